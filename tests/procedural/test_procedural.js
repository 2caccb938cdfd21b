// Reads [{name, code, tests or cases}] and prints the names of those that fail, and why.
const items = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const failed = [];
for (const item of items) {
  try {
    if (item.tests) new Function('require', [item.code, ...item.tests].join('\n'))(require);
    for (const { input, output } of item.cases || []) {
      const lines = [];
      const files = { readFileSync: () => input };
      const load = (name) => (name === 'fs' ? files : require(name));
      new Function('require', 'console', item.code)(load, { log: (line) => lines.push(line) });
      if (lines.join('\n') !== output) throw new Error(`${input} gave ${lines}`);
    }
  } catch (error) {
    failed.push(`${item.name}: ${error.message}`);
  }
}
console.log(JSON.stringify(failed));
