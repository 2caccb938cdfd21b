// What the report and the viewer have in common: light or dark, the keys and their list, the entry that is chosen.

const $ = (id) => document.getElementById(id);
const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowRight: "→", ArrowLeft: "←" };

const dark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  $("theme").textContent = dark() ? "Light" : "Dark";
}

const otherTheme = () => theme(dark() ? "light" : "dark");
const help = () => $("help").showModal();

/** Wire the header and the keys: `keys` has lines of names, what they do, and the function that does it. */
function controls(keys) {
  const all = [...keys, ["t", "light or dark", otherTheme], ["?", "these keys", help]];
  theme();
  $("theme").addEventListener("click", otherTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme());
  $("help-button").addEventListener("click", help);
  for (const [names, what] of all) {
    const shown = names.split(" ").map((name) => make("kbd", "", name));
    $("help").querySelector("tbody").append(make("tr", "", make("th", "", ...shown), make("td", "", what)));
  }
  document.addEventListener("keydown", (event) => pressed(event, all));
}

function pressed(event, keys) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const name = NAMES[event.key] ?? event.key, target = event.target;
  if (target.matches("input:not([type=checkbox]), select, textarea")) {
    if (event.key === "Escape" || (event.key === "ArrowDown" && target === $("search"))) {
      event.preventDefault();
      $("list").focus();
    }
    return;
  }
  const special = name.length > 1 || "↓↑→←".includes(name);
  if (special && event.key !== "Escape" && !ours(target)) return;
  const key = keys.find(([names]) => names.split(" ").includes(name));
  if (!key) return;
  event.preventDefault();
  key[2]();
}

/** Whether the page handles arrows, Enter and so on there: buttons, tabs and the open row have their own. */
const ours = (target) => target === $("list") || (target === document.body && !$("rows").hidden);

/** Show which entry of the list is chosen, to readers and to assistive tools. */
function highlight(entry) {
  for (const node of $("list").querySelectorAll("[aria-selected=true]")) node.setAttribute("aria-selected", "false");
  entry.setAttribute("aria-selected", "true");
  entry.scrollIntoView({ block: "nearest" });
  $("list").setAttribute("aria-activedescendant", entry.id);
}
