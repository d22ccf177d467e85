document.documentElement.dataset.own = "script";
