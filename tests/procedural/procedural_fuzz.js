// Reads [{code, name, inputs}] and prints the results of each, or what went wrong.
const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const exact = (key, value) => {
  if (value === undefined || Object.is(value, -0)) return String(value) + ' or -0';
  return typeof value === 'number' && !Number.isSafeInteger(value) ? `unsafe ${value}` : value;
};
const run = ({ code, name, inputs }) => {
  const call = new Function(`${code}\nreturn ${name};`)();
  return inputs.map((arguments) => {
    const before = JSON.stringify(arguments);
    let result;
    try {
      result = call(...arguments);
    } catch (error) {
      result = `raised ${error}`;
    }
    return JSON.stringify(arguments) === before ? result : 'changed its arguments';
  });
};
console.log(JSON.stringify(cases.map(run), exact));
