import { contenders } from './contenders.ts';

// Runs in a process of its own: one copy by one contender. Prints its time, CPU and memory as JSON.

const [name = '', url = '', endpoint = ''] = process.argv.slice(2);
const copy = contenders[name];
if (!copy) throw new Error(`There is no contender ${name}`);
const started = performance.now();
const before = process.cpuUsage();
await copy(url, endpoint);
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(before);
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, rss: maxRSS * 1024 }));
