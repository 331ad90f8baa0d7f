// Derives the timeline of each process from the cluster's events: run times, leader terms, marks. Pure functions.

/**
 * @typedef {{at: number, what: string, name: string, epoch: number, by: string, generation: string, reason: string,
 *   owner: string, job: string, work: string, last: string, after_s: number | null,
 *   code: number | null}} Happened
 * @typedef {{name: string, role: string, state: string, host: string, pid: number, generation: string, leader: boolean,
 *   ready: boolean, restarts: number, rss: number, cpu: number | null, owner: string, job: string, work: string, quiet_s: number, reason: string,
 *   restart_in_s?: number | null}} Process
 * @typedef {{from: number, to: number | null, generation: string}} Life
 * @typedef {{name: string, lives: Life[], terms: Life[], marks: Happened[]}} Lane
 */

const BIRTHS = new Set(["started", "restarted"]);
const EXITS = new Set(["crashed", "exited", "lost"]);
const ROLES = ["doctor", "gateway", "worker"];

/**
 * A lane for each current or past process, doctors first.
 * @param {Process[]} processes @param {Happened[]} events in order @param {number} since the start of the known events
 * @returns {Lane[]}
 */
export function lanesOf(processes, events, since) {
  const names = new Set([...processes.map((each) => each.name), ...events.map((each) => each.name)]);
  const alive = new Map(processes.filter((each) => each.pid > 0).map((each) => [each.name, each]));
  return [...names].filter((name) => roleOf(name) >= 0).sort(inOrder).map((name) => {
    const marks = events.filter((each) => each.name === name);
    const now = alive.get(name) ?? null;
    const lives = livesOf(marks, now, since);
    const terms = termsOf(name, events);
    const launched = launchOf(now);
    if (launched !== null) for (const each of [...lives, ...terms]) cutOff(each, launched, events);
    return { name, lives, terms, marks };
  });
}

/** The start time of a process, from its generation. The first doctors of a service have no start event. @param {Process | null} process */
function launchOf(process) {
  const launch = Number(process?.generation.split(".").pop() ?? 0);
  return launch > 1e12 ? launch / 1000 : null;
}

/** Ends a run time whose end nobody recorded: at the last event before the current instance started. @param {Life} life @param {number} launched @param {Happened[]} events */
function cutOff(life, launched, events) {
  if (life.from >= launched || (life.to !== null && life.to < launched)) return;
  const heard = events.filter((event) => event.at < launched && event.at >= life.from);
  life.to = heard.length ? heard[heard.length - 1].at : life.from;
}

/** @param {Happened[]} marks @param {Process | null} now @param {number} since @returns {Life[]} */
function livesOf(marks, now, since) {
  /** @type {Life[]} */
  const lives = [];
  for (const mark of marks) {
    const open = lives.find((life) => life.to === null);
    if (BIRTHS.has(mark.what)) {
      if (open) open.to = mark.at;
      lives.push({ from: mark.at, to: null, generation: mark.generation });
    } else if (EXITS.has(mark.what)) {
      if (open) open.to = mark.at;
      else if (!lives.length) lives.push({ from: since, to: mark.at, generation: mark.generation });
    }
  }
  const last = lives[lives.length - 1];
  const launched = launchOf(now);
  if (now && launched !== null && (!last || last.from < launched)) {
    lives.push({ from: launched, to: null, generation: now.generation });
  } else if (now && (!last || last.to !== null)) {
    lives.push({ from: last?.to ?? since, to: null, generation: now.generation });
  }
  if (!now && last && last.to === null) last.to = last.from;
  return lives;
}

/** The terms of a leader: from its election to the next one, or to its exit. @param {string} name @param {Happened[]} events @returns {Life[]} */
function termsOf(name, events) {
  /** @type {Life[]} */
  const terms = [];
  for (const event of events) {
    const open = terms.find((term) => term.to === null);
    if (event.what === "elected") {
      if (open) open.to = event.at;
      if (event.name === name) terms.push({ from: event.at, to: null, generation: event.generation });
    } else if (open && event.name === name && EXITS.has(event.what)) open.to = event.at;
  }
  return terms;
}

/** @param {string} name */
function roleOf(name) {
  return ROLES.indexOf(name.split("-")[0]);
}

/** The work of a process, with the job that it belongs to. @param {{job: string, work: string}} each */
export function workOf(each) {
  return [each.job, each.work].filter(Boolean).join(": ");
}

/** By role, then by number. @param {string} a @param {string} b */
export function inOrder(a, b) {
  const number = (/** @type {string} */ name) => Number.parseInt(name.split("-")[1] ?? "0", 10) || 0;
  return roleOf(a) - roleOf(b) || number(a) - number(b) || (a < b ? -1 : 1);
}
