/** What is drawn for an id, or for the whole drawing. */
interface Part {
  /** Of its elements, itself included, without what they refer to. */
  cost: number
  /** What is drawn again for it, and how often. */
  readonly references: Reference[]
}

interface Reference {
  readonly id: string
  readonly times: number
}

/** A drawing as its tags say it. */
interface Outline {
  readonly parts: ReadonlyMap<string, Part>
  readonly elements: number
  /** Points of all paths, where a style sheet may put markers. */
  readonly points: number
  /** Without tags: where style sheets are. */
  readonly text: string
}

/**
 * Costs in the unit of one plain element as large as the drawing: half a millisecond or less at 1,280 × 1,280 pixels.
 * Filters were measured with the librsvg of sharp at that size and rounded up, as if each covered the whole drawing.
 */
const FILTERS: Readonly<Record<string, number>> = {
  feblend: 50,
  fecolormatrix: 50,
  fecomponenttransfer: 50,
  fecomposite: 50,
  fediffuselighting: 700,
  fedisplacementmap: 5_500,
  fedropshadow: 1_300,
  feflood: 50,
  fegaussianblur: 1_000,
  feimage: 50,
  femerge: 50,
  // Grows with the square of the radius, up to 10 pixels. What a radius is in pixels depends on every transformation.
  femorphology: 30_000,
  feoffset: 50,
  fespecularlighting: 700,
  fetile: 50,
  feturbulence: 4_000,
}
/** For each of the `order` × `order` numbers of a kernel. */
const KERNEL_NUMBER = 130
const MOST_KERNEL_NUMBERS = 400
/** Filter functions of CSS (Filter Effects Module Level 1, section 6). */
const FUNCTIONS: readonly (readonly [RegExp, number])[] = [
  [/\bblur\(/gi, 1_000],
  [/\bdrop-shadow\(/gi, 1_300],
  [/\b(?:brightness|contrast|grayscale|hue-rotate|invert|opacity|saturate|sepia)\(/gi, 50],
]
/** Properties for which a group is drawn apart from the rest. */
const LAYERS: readonly (readonly [RegExp, number])[] = [
  [/\bmask\s*[:=]/gi, 70],
  [/\bmix-blend-mode\s*[:=]/gi, 60],
  [/(?<!-)\bopacity\s*[:=]/gi, 8],
]
/** A style sheet may apply these to every element. Gradients and small patterns cost less. */
const HEAVY = 50

/** What is no element: how it begins, and what ends it. */
const SILENT = /<!--|<!\[CDATA\[|<\?/g
const CDATA = '<![CDATA['
const ENDS: Readonly<Record<string, string>> = { '<!--': '-->', [CDATA]: ']]>', '<?': '?>' }
/** The end of the name is told by what follows: otherwise a shorter name would be tried for each letter. */
const TAG = /<(\/?)([^\s<>/!?"']+)(?=[\s/>])((?:"[^"]*"|'[^']*'|[^<>"'])*?)(\/?)>/g
const ID = /\sid\s*=\s*["']([^"']*)["']/
const REFERENCE = /(?:href\s*=\s*["']\s*|url\(\s*["']?)#([^"')\s]+)/g
const MOST_LEVELS = 250
/** A reference is noted with everything that it is within. */
const MOST_NOTED = 1_000_000

/**
 * What it costs to draw a drawing, in plain elements. What is referred to (`use`, patterns, masks, markers, filters)
 * counts again each time, so that a few lines that refer to each other may come to billions.
 * @param source as it was sent: a character reference begins and ends nothing
 * @param read what an attribute or style sheet says, without what hides it
 * @returns Infinity for what is nested too deep, or refers too often
 */
export function drawingCost(source: string, read: (text: string) => string): number {
  const outline = outlineOf(source, read)
  if (outline === undefined) return Infinity
  const weigh = weighing(outline.parts)
  return weigh(WHOLE) + styleCost(outline, weigh)
}

/** No id is empty. */
const WHOLE = ''

/** @returns what is drawn for an id, with all that it refers to */
function weighing(parts: ReadonlyMap<string, Part>): (id: string) => number {
  const known = new Map<string, number>()
  const weigh = (id: string, level: number): number => {
    if (level > MOST_LEVELS) return Infinity
    const before = known.get(id)
    if (before !== undefined) return before
    const { cost, references } = parts.get(id) ?? { cost: 0, references: [] }
    // What refers to what it is in is not drawn by anybody.
    known.set(id, 0)
    const weight = references.reduce((sum, other) => sum + other.times * weigh(other.id, level + 1), cost)
    known.set(id, weight)
    return weight
  }
  return (id) => weigh(id, 0)
}

/** What style sheets add: as if each of their rules were for every element. */
function styleCost({ elements, points, text }: Outline, weigh: (id: string) => number): number {
  const places = elements + (/\bmarker/i.test(text) ? points : 0)
  let cost = costOf(FUNCTIONS, text)
  for (const [, id = ''] of text.matchAll(REFERENCE)) {
    const weight = weigh(id)
    if (weight >= HEAVY) cost += weight
  }
  const layers = costOf(LAYERS, text) > 0 ? 3 * elements : 0
  return cost * places + layers
}

function costOf(table: readonly (readonly [RegExp, number])[], text: string): number {
  return table.reduce((sum, [pattern, cost]) => sum + cost * (text.match(pattern)?.length ?? 0), 0)
}

/** Linear in its length: a regular expression would look from every beginning for an end that is not there. */
function withoutSilent(text: string): { readonly markup: string; readonly data: string } {
  let markup = ''
  let data = ''
  let from = 0
  for (const { 0: begin, index } of text.matchAll(SILENT)) {
    if (index < from) continue
    const end = ENDS[begin] ?? ''
    const at = text.indexOf(end, index + begin.length)
    markup += text.slice(from, index)
    if (at === -1) return { markup, data }
    if (begin === CDATA) data += `${text.slice(index + begin.length, at)}\n`
    from = at + end.length
  }
  return { markup: markup + text.slice(from), data }
}

function outlineOf(source: string, read: (text: string) => string): Outline | undefined {
  const { data, markup } = withoutSilent(source)
  const whole: Part = { cost: 0, references: [] }
  const parts = new Map<string, Part>([[WHOLE, whole]])
  const open: (Part | undefined)[] = [whole]
  let noted = 0
  let elements = 0
  let points = 0
  let hasStyle = false
  for (const [, closing, name = '', sent = '', empty] of markup.matchAll(TAG)) {
    if (closing !== '') {
      if (open.length > 1) open.pop()
      continue
    }
    const attributes = read(sent)
    const local = name.slice(name.lastIndexOf(':') + 1).toLowerCase()
    hasStyle ||= local === 'style'
    const id = ID.exec(attributes)?.[1]
    const own: Part | undefined = id ? { cost: 0, references: [] } : undefined
    if (id && own && !parts.has(id)) parts.set(id, own)
    const ownPoints = pointsOf(attributes)
    const times = attributes.includes('marker') ? 1 + ownPoints : 1
    const references =
      local === 'a' ? [] : [...attributes.matchAll(REFERENCE)].map((match) => ({ id: match[1] ?? '', times }))
    elements += 1
    points += ownPoints
    open.push(own)
    noted += references.length * open.length
    if (open.length > MOST_LEVELS || noted > MOST_NOTED) return undefined
    const cost = elementCost(local, attributes)
    for (const part of open) {
      if (part === undefined) continue
      part.cost += cost
      for (const reference of references) part.references.push(reference)
    }
    if (empty !== '') open.pop()
  }
  const text = hasStyle ? read(`${data}${markup.replaceAll(TAG, '\n')}`) : ''
  return { parts, elements, points, text }
}

/** Points of a path, a polyline or a polygon, at most. */
function pointsOf(attributes: string): number {
  const numbers = /\s(?:d|points)\s*=\s*["']([^"']*)/.exec(attributes)?.[1]?.match(/\d+/g)
  return numbers?.length ?? 0
}

function elementCost(name: string, attributes: string): number {
  const filter = name === 'feconvolvematrix' ? kernelCost(attributes) : (FILTERS[name] ?? 0)
  return 1 + filter + costOf(FUNCTIONS, attributes) + costOf(LAYERS, attributes)
}

function kernelCost(attributes: string): number {
  const [columns = 3, rows = columns] = (/\sorder\s*=\s*["']([^"']*)/.exec(attributes)?.[1]?.match(/\d+/g) ?? []).map(
    Number,
  )
  return KERNEL_NUMBER * Math.min(MOST_KERNEL_NUMBERS, columns * rows)
}
