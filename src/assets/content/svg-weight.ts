interface Part {
  /** Elements in it, itself included. */
  elements: number
  /** Ids of what is drawn again for it. */
  readonly references: string[]
}

/** What is no element: how it begins, and what ends it. */
const SILENT = /<!--|<!\[CDATA\[|<\?/g
const ENDS: Readonly<Record<string, string>> = { '<!--': '-->', '<![CDATA[': ']]>', '<?': '?>' }
/** The end of the name is told by what follows: otherwise a shorter name would be tried for each letter. */
const TAG = /<(\/?)([^\s<>/!?"']+)(?=[\s/>])((?:"[^"]*"|'[^']*'|[^<>"'])*?)(\/?)>/g
const ID = /\sid\s*=\s*["']([^"']*)["']/
const REFERENCE = /(?:href\s*=\s*["']\s*|url\(\s*["']?)#([^"')\s]+)/g
const MOST_LEVELS = 250
/** A reference is noted with everything that it is within. */
const MOST_NOTED = 1_000_000

/**
 * How many elements a program draws for a drawing: what is referred to (`use`, patterns, masks, markers, filters) counts
 * again each time, so that a few lines that refer to each other may come to billions. References of style sheets are
 * not seen.
 * @param source as it was sent: a character reference begins and ends nothing
 * @param read what an attribute says, without what hides it
 * @returns Infinity for what is nested too deep, or refers too often
 */
export function drawnElements(source: string, read: (attributes: string) => string): number {
  const parts = partsOf(withoutSilent(source), read)
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

/** Linear in its length: a regular expression would look from every beginning for an end that is not there. */
function withoutSilent(text: string): string {
  let kept = ''
  let from = 0
  for (const { 0: begin, index } of text.matchAll(SILENT)) {
    if (index < from) continue
    const end = ENDS[begin] ?? ''
    const at = text.indexOf(end, index + begin.length)
    kept += text.slice(from, index)
    if (at === -1) return kept
    from = at + end.length
  }
  return kept + text.slice(from)
}

function partsOf(text: string, read: (attributes: string) => string): Map<string, Part> | undefined {
  const parts = new Map<string, Part>([[WHOLE, { elements: 0, references: [] }]])
  const open = [parts.get(WHOLE)]
  let noted = 0
  for (const [, closing, name = '', sent = '', empty] of text.matchAll(TAG)) {
    if (closing !== '') {
      if (open.length > 1) open.pop()
      continue
    }
    const attributes = read(sent)
    const id = ID.exec(attributes)?.[1]
    const own: Part | undefined = id ? { elements: 0, references: [] } : undefined
    if (id && own && !parts.has(id)) parts.set(id, own)
    const references = /(?:^|:)a$/.test(name) ? [] : [...attributes.matchAll(REFERENCE)].map((match) => match[1] ?? '')
    open.push(own)
    noted += references.length * open.length
    if (open.length > MOST_LEVELS || noted > MOST_NOTED) return undefined
    for (const part of open) {
      if (part === undefined) continue
      part.elements += 1
      for (const reference of references) part.references.push(reference)
    }
    if (empty !== '') open.pop()
  }
  return parts
}
