/** Tells the bench where a server of its listens, and, whenever asked, how many seconds of CPU it took. It ends with the bench. */
export function announce(port: number): void {
  process.send?.(port);
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.((user + system) / 1e6);
  });
  process.on('disconnect', () => process.exit()); // the bench was stopped
}
