import { toPrintable } from '../place/errors.ts';

class Markup {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

/** Escaped text, made by {@link html}. Only this module can make it, so no other text reaches the page. */
export type Html = Markup;

/** Undefined, false and empty lists leave nothing. */
export type Content = string | number | Html | undefined | false | readonly Content[];

/**
 * Markup with values in it. A value is escaped, unless it is itself the result of this function. It may stand
 * between tags and in a quoted attribute. Characters that reverse the direction of writing become spaces.
 */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Markup(parts.map((part, at) => part + toMarkup(values[at])).join(''));
}

/** A name that others gave, apart from the text around it, which may have another direction of writing. */
export function isolate(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** A name such as `ReportStuck` or `number_of_purchases`, which breaks between its words if it must. */
export function breakable(name: string): Html {
  const words = name.split(/(?<=[a-z])(?=[A-Z])|(?<=_)/);
  return html`${words.map((word, at) => (at === 0 ? word : html`<wbr>${word}`))}`;
}

/** A text whose dates do not break. */
export function dated(text: string): Html {
  const parts = text.split(/(\d{4}-\d\d-\d\d)/);
  return html`${parts.map((part, at) => (at % 2 === 1 ? html`<time>${part}</time>` : part))}`;
}

/** A command, which one click selects. It is whole, because a part of it would be another one. */
export function copyable(text: string): Html {
  return html`<pre class=copy>${text}</pre>`;
}

export function fold(summary: string, content: Html): Html {
  return html`<details><summary>${summary}</summary>${content}</details>
`;
}

/** The content of a style element, which has no escapes. @param css of this repository */
export function styleSheet(css: string): Html {
  if (/<\//.test(css)) throw new TypeError('a style sheet cannot contain </');
  return new Markup(css);
}

function toMarkup(value: Content): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Markup) return value.markup;
  if (Array.isArray(value)) return value.map(toMarkup).join('');
  return toPrintable(String(value)).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
