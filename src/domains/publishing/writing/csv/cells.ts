/**
 * How values are written into cells. A value that starts like a formula gets an apostrophe, so that Excel and other
 * programs do not execute it. `unescapeCell` takes away exactly that.
 */

/** The longest cell. Excel's own limit is 32,767 characters. */
export const MAX_CELL = 45_000

/** What formulas begin with, also in full width, which Excel takes alike in some languages. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/

export function escapeCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

export function unescapeCell(text: string): string {
  return text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text
}

/** A value of a cell, or why it is none. */
export type Cell<T> = { readonly value: T } | { readonly problem: string }

/** Reads a list: items separated by commas, semicolons or line breaks, or a JSON list. */
export function readList(text: string): Cell<string[]> {
  if (text.trimStart().startsWith('[')) {
    const json = readJson(text)
    if ('problem' in json) return json
    if (Array.isArray(json.value) && json.value.every((item) => typeof item === 'string')) return { value: json.value }
    return { problem: 'must be a list of texts, such as ["one","two"] or: one, two' }
  }
  const items = text.split(/[,;\n]/).map((item) => item.trim())
  return { value: items.filter((item) => item !== '') }
}

export function writeList(items: readonly string[]): string {
  const text = items.join(', ')
  const read = readList(text)
  const isPlain =
    'value' in read && read.value.length === items.length && items.every((item, at) => item === read.value[at])
  return isPlain ? text : JSON.stringify(items)
}

/** Parts of a thread: texts separated by lines of `---`, or a JSON list. */
export const THREAD_SEPARATOR = '\n---\n'

export function readTexts(text: string): Cell<unknown[]> {
  if (text.trimStart().startsWith('[')) {
    const json = readJson(text)
    if ('problem' in json) return json
    return Array.isArray(json.value) ? { value: json.value } : { problem: 'must be a JSON list' }
  }
  return { value: text.split(/\r?\n---\r?\n/).map((content) => ({ content })) }
}

export function readJson(text: string): Cell<unknown> {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    return { problem: `is not valid JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
}

export function readObject(text: string): Cell<Record<string, unknown>> {
  const json = readJson(text)
  if ('problem' in json) return json
  const { value } = json
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return { problem: 'must be a JSON object, such as {"content":"Other text"}' }
  }
  return { value: value as Record<string, unknown> }
}

export function readBoolean(text: string): Cell<boolean> {
  const word = text.trim().toLowerCase()
  if (['true', 'yes', '1', 'x'].includes(word)) return { value: true }
  if (['false', 'no', '0'].includes(word)) return { value: false }
  return { problem: 'must be true or false' }
}

export function readInteger(text: string): Cell<number> {
  return /^\s*\d{1,9}\s*$/.test(text) ? { value: Number(text) } : { problem: 'must be a whole number' }
}
