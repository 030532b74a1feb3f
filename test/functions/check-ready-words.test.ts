import { describe, expect, it } from 'vitest';
import { check, HALF, OTHER_HALF, WINDOW } from '../support/ready.ts';

describe('CheckReady', () => {
  it('names each account that lacks days, and the command that exports them', async () => {
    const { checked, words } = await check({ acme: [WINDOW], globex: [HALF], initech: [] });
    expect(checked).toMatchObject({ status: 'late', late: 2, checks: 1 });
    const command = (account: string, from: string) =>
      `  npm run export -- run daily --account ${account} --from ${from} --to 2026-11-23`;
    expect(words).toEqual([
      'daily of 2026-11-23 is late',
      'daily of 2026-11-23 is late: 2 of 3 accounts, due at 09:00 (Europe/Berlin).',
      'globex lacks 2026-11-20 to 2026-11-22. If it is not running:',
      command('globex', '2026-11-20'),
      'initech lacks 2026-11-16 to 2026-11-22. If it is not running:',
      command('initech', '2026-11-16'),
    ]);
  });

  it('names no days in the command of a list', async () => {
    const configured = (account: string) => ({ kind: 'list', name: 'daily', account, resource: 'campaigns' });
    const { words } = await check({ acme: [] }, { configured });
    expect(words.at(-1)).toBe('  npm run export -- run daily --account acme');
  });

  it.each([
    ['windows of its own', [WINDOW]],
    ['windows of other runs', [HALF, OTHER_HALF]],
  ])('56: says that the days of a run are there, and no numbers, if they came in %s', async (_, windows) => {
    const { checked, words } = await check({ acme: windows }, { run: { tell: true } });
    expect(checked.readiness.accounts).toEqual([{ account: 'acme' }]);
    expect(words).toEqual([
      'daily of 2026-11-23 is there',
      'daily of 2026-11-23 is there: 1 account, due at 09:00 (Europe/Berlin).',
      'acme has 2026-11-16 to 2026-11-22.',
    ]);
  });

  it('has text for mail, and for the chat service the custom notification that it takes', async () => {
    const { checked } = await check({ acme: [HALF] });
    const { subject: title, message } = checked.readiness;
    const { https, ...others } = JSON.parse(checked.notification);
    expect(others).toEqual({ default: message });
    const description = ['```', message, '```'].join('\n');
    expect(JSON.parse(https)).toEqual({ version: '1.0', source: 'custom', content: { title, description } });
  });

  describe('of 200 late accounts with the longest names', () => {
    async function checkMany() {
      const names = Array.from({ length: 200 }, (_, at) => `${'a'.repeat(37)}-${at}`);
      const nothing = Object.fromEntries(names.map((name) => [name, []]));
      const { checked } = await check(nothing, { run: { export: 'd'.repeat(64) } });
      return checked;
    }

    it('has a subject that SNS accepts', async () => {
      const { subject } = (await checkMany()).readiness;
      expect(subject.length).toBeLessThanOrEqual(100);
    });

    it('has a message for mail that says how many lines it leaves out, and that SNS accepts', async () => {
      const { notification, readiness } = await checkMany();
      expect(readiness.message).toMatch(/\nand 200 more lines: see status$/);
      const { https: _, ...others } = JSON.parse(notification);
      expect(others).toEqual({ default: readiness.message });
      expect(Buffer.byteLength(notification)).toBeLessThan(256 * 1024);
    });

    it('has a notification for the chat service that cuts no command', async () => {
      const { https } = JSON.parse((await checkMany()).notification);
      const { description } = JSON.parse(https).content;
      expect(description.length).toBeLessThanOrEqual(8_000);
      expect(description).toMatch(/\nand more: see status\n```$/);
      const commands = description.split('\n').filter((line: string) => line.includes(' run '));
      expect(commands).not.toEqual([]);
      expect(commands.filter((line: string) => !line.endsWith('--to 2026-11-23'))).toEqual([]);
    });

    it('has a result that a state can carry', async () => {
      expect(JSON.stringify(await checkMany()).length).toBeLessThan(150_000);
    });
  });
});
