/** A value of a form: text, or an object or list of values. */
export type FormValue = string | FormObject | FormValue[]
export interface FormObject {
  [name: string]: FormValue
}

/** Reads `a=1&metadata[x]=2&expand[0]=y` as Stripe does: brackets make objects, and numbers in them lists. */
export function readForm(text: string): FormObject {
  const result: FormObject = {}
  for (const [key, value] of new URLSearchParams(text)) {
    const path = key.split(/\]\[|\[|\]/).filter((part, index) => part !== '' || index === 0)
    let here = result
    for (const part of path.slice(0, -1)) here = (here[part] ??= {}) as FormObject
    here[path.at(-1) ?? ''] = value
  }
  return result
}

/** The entries of a list or object. */
export function entriesOf(value: FormValue | undefined): Record<string, string> {
  return typeof value === 'object' ? (value as Record<string, string>) : {}
}

export function listOf(value: FormValue | undefined): string[] {
  return Object.values(entriesOf(value))
}
