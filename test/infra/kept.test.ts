import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { fill, placeOf } from '../../infra/kept.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const directory = temporaryDirectory();
const sources = [relative(ROOT, join(directory, '*.ts'))];

let places = 0;

/** One that no other test has, and nothing of it is left. */
function newPlace(): string {
  places += 1;
  const place = placeOf([], [directory, places]);
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  return place;
}

function madeHoursAgo(hours: number): string {
  const place = newPlace();
  const then = new Date(Date.now() - hours * 60 * 60 * 1000);
  mkdirSync(place, { recursive: true });
  utimesSync(place, then, then);
  return place;
}

function write(text: string): (to: string) => void {
  return (to) => writeFileSync(join(to, 'made'), text);
}

it('the place depends on what the sources hold and are called, and on the settings', () => {
  const source = join(directory, 'a.ts');
  writeFileSync(source, 'one');
  const place = placeOf(sources, {});
  utimesSync(source, 0, 0);
  expect(placeOf(sources, {})).toBe(place);
  expect(placeOf(sources, { other: true })).not.toBe(place);
  writeFileSync(source, 'two');
  expect(placeOf(sources, {})).not.toBe(place);
  writeFileSync(source, 'one');
  expect(placeOf(sources, {})).toBe(place);
  writeFileSync(join(directory, 'b.ts'), '');
  expect(placeOf(sources, {})).not.toBe(place);
});

it('what was filled is whole', () => {
  const place = newPlace();
  fill(place, (to) => {
    write('whole')(to);
    expect(existsSync(place)).toBe(false);
  });
  expect(readFileSync(join(place, 'made'), 'utf8')).toBe('whole');
});

it('what could not be made is not there, nor any part of it', () => {
  const place = newPlace();
  const drafts: string[] = [];
  const fail = (to: string) => {
    drafts.push(to);
    write('half')(to);
    throw new Error('no such function');
  };
  expect(() => fill(place, fail)).toThrow('no such function');
  expect([place, ...drafts].map((path) => existsSync(path))).toEqual([false, false]);
});

it('what another process made meanwhile stays', () => {
  const place = newPlace();
  fill(place, (to) => {
    fill(place, write('theirs'));
    write('ours')(to);
  });
  expect(readFileSync(join(place, 'made'), 'utf8')).toBe('theirs');
});

it('what nobody asked for in a day is removed when something else is made', () => {
  const [used, unused] = [madeHoursAgo(25), madeHoursAgo(25)];
  expect(placeOf([], [directory, places - 1])).toBe(used);
  fill(newPlace(), write(''));
  expect([used, unused].map((place) => existsSync(place))).toEqual([true, false]);
});

it('of much that was made, what nobody asked for in an hour is removed', () => {
  const [recent, old] = [madeHoursAgo(0.9), madeHoursAgo(1.1)];
  for (let count = 0; count < 20; count += 1) madeHoursAgo(0.5);
  fill(newPlace(), write(''));
  expect([recent, old].map((place) => existsSync(place))).toEqual([true, false]);
});
