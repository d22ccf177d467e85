(r=>{let m;try{m=localStorage.mode}catch{}m||='auto';r.dataset.mode=m;r.dataset.theme=m!='auto'?m:matchMedia('(prefers-color-scheme: dark)').matches?'dark':'light'})(document.documentElement)
