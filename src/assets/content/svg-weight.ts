interface Part {
  /** Elements in it, itself included. */
  elements: number
  /** Ids of what is drawn again for it. */
  readonly references: string[]
}

const SILENT = /<!--[^]*?-->|<!\[CDATA\[[^]*?\]\]>|<\?[^]*?\?>/g
const TAG = /<(\/?)([^\s<>/!?]+)((?:"[^"]*"|'[^']*'|[^<>"'])*?)(\/?)>/g
const ID = /\sid\s*=\s*["']([^"']*)["']/
const REFERENCE = /(?:href\s*=\s*["']\s*|url\(\s*["']?)#([^"')\s]+)/g
const MOST_LEVELS = 250

/**
 * How many elements a program draws for a drawing: what is referred to (`use`, patterns, masks, markers, filters) counts
 * again each time, so that a few lines that refer to each other may come to billions. References of style sheets are
 * not seen. @returns Infinity for what is nested too deep
 */
export function drawnElements(text: string): number {
  const parts = partsOf(text.replaceAll(SILENT, ''))
  if (parts === undefined) return Infinity
  const known = new Map<string, number>()
  const weigh = (id: string, level: number): number => {
    if (level > MOST_LEVELS) return Infinity
    const before = known.get(id)
    if (before !== undefined) return before
    const { elements, references } = parts.get(id) ?? { elements: 0, references: [] }
    // What refers to what it is in is not drawn by anybody.
    known.set(id, 0)
    const weight = references.reduce((sum, other) => sum + weigh(other, level + 1), elements)
    known.set(id, weight)
    return weight
  }
  return weigh(WHOLE, 0)
}

/** No id is empty. */
const WHOLE = ''

function partsOf(text: string): Map<string, Part> | undefined {
  const parts = new Map<string, Part>([[WHOLE, { elements: 0, references: [] }]])
  const open = [parts.get(WHOLE)]
  for (const [, closing, name = '', attributes = '', empty] of text.matchAll(TAG)) {
    if (closing !== '') {
      if (open.length > 1) open.pop()
      continue
    }
    const id = ID.exec(attributes)?.[1]
    const own: Part | undefined = id ? { elements: 0, references: [] } : undefined
    if (id && own && !parts.has(id)) parts.set(id, own)
    const references = /(?:^|:)a$/.test(name) ? [] : [...attributes.matchAll(REFERENCE)].map((match) => match[1] ?? '')
    open.push(own)
    if (open.length > MOST_LEVELS) return undefined
    for (const part of open) {
      if (part === undefined) continue
      part.elements += 1
      part.references.push(...references)
    }
    if (empty !== '') open.pop()
  }
  return parts
}
