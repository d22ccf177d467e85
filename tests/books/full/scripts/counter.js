export const render = ({ model, el }) => {
  let count = model.state.n?.[0] ?? model.data.begin;
  const button = el.querySelector("button");
  const show = () => { button.textContent = `${model.data.word} ${count}`; };
  button.addEventListener("click", () => { count += 1; show(); model.save({ n: count }); });
  model.onchange(() => { count = model.state.n?.[0] ?? model.data.begin; show(); });
  show();
};
