import { contenders } from './contenders.ts';

// Run by itself, so that memory and CPU are its own: one copy by one contender, and what it took as JSON on stdout.

const [name = '', url = '', endpoint = ''] = process.argv.slice(2);
const contender = contenders[name];
if (!contender) throw new Error(`There is no contender ${name}`);
const copy = await contender.load();
const started = performance.now();
const before = process.cpuUsage();
await copy(url, endpoint);
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(before);
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, rss: maxRSS * 1024 }));
