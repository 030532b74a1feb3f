import { contenders } from './contenders.ts';

// Run by itself, so that memory and CPU are its own: one copy by one contender, and what it took as JSON on stdout.

const [name = '', url = '', endpoint = ''] = process.argv.slice(2);
const load = contenders[name];
if (!load) throw new Error(`There is no contender ${name}`);
const contender = await load();
const started = performance.now();
const before = process.cpuUsage();
const bytes = await contender(url, endpoint);
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(before);
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ bytes, seconds, cpu: (user + system) / 1e6, rss: maxRSS * 1024 }));
process.exit(0);
