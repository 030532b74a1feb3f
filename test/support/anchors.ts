/** The anchors that GitHub gives the headings of a document. */
export function anchorsIn(markdown: string): string[] {
  const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase());
  return headings.map((heading) => heading.replaceAll(/[^a-z0-9 _-]/g, '').replaceAll(' ', '-'));
}
