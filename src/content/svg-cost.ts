/** The element with an id and its descendants, or the whole document. */
interface Part {
  /** The cost of its elements, without what they refer to. */
  cost: number
  /** What its elements refer to, and how often it is rendered for them. */
  readonly references: Reference[]
}

interface Reference {
  readonly id: string
  readonly times: number
}

/** The structure of an SVG document, read from its tags. */
interface Outline {
  readonly parts: ReadonlyMap<string, Part>
  readonly elements: number
  /** Points of all paths. A style sheet may put a marker on each. */
  readonly points: number
  /** The text between tags, which contains the style sheets. */
  readonly text: string
}

/**
 * Rendering costs. The unit is one plain element that covers the image: at most half a millisecond at 1,280 × 1,280 pixels.
 * Filters were measured with sharp's librsvg at that size, each covering the whole image, and rounded up.
 */
const FILTER_COSTS: Readonly<Record<string, number>> = {
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
  // The cost grows with the square of the radius, up to 10 pixels. The radius in pixels depends on all transformations.
  femorphology: 30_000,
  feoffset: 50,
  fespecularlighting: 700,
  fetile: 50,
  feturbulence: 4_000,
}
/** Cost of each of the `order` × `order` values of a kernel. */
const KERNEL_VALUE_COST = 130
const MAX_KERNEL_VALUES = 400
/** Filter functions of CSS (Filter Effects Module Level 1, section 6). */
const FUNCTIONS: readonly (readonly [RegExp, number])[] = [
  [/\bblur\(/gi, 1_000],
  [/\bdrop-shadow\(/gi, 1_300],
  [/\b(?:brightness|contrast|grayscale|hue-rotate|invert|opacity|saturate|sepia)\(/gi, 50],
]
/** Properties that render a group into a separate layer. */
const LAYERS: readonly (readonly [RegExp, number])[] = [
  [/\bmask\s*[:=]/gi, 70],
  [/\bmix-blend-mode\s*[:=]/gi, 60],
  [/(?<!-)\bopacity\s*[:=]/gi, 8],
]
/** References in style sheets count from this cost on. Gradients and small patterns cost less. */
const MIN_STYLE_REFERENCE_COST = 50

/** The starts of comments, CDATA sections and processing instructions, and their ends. */
const NON_ELEMENT = /<!--|<!\[CDATA\[|<\?/g
const CDATA = '<![CDATA['
const ENDS: Readonly<Record<string, string>> = { '<!--': '-->', [CDATA]: ']]>', '<?': '?>' }
/** A lookahead ends the name. Without it, the expression would backtrack to every shorter name. */
const TAG = /<(\/?)([^\s<>/!?"']+)(?=[\s/>])((?:"[^"]*"|'[^']*'|[^<>"'])*?)(\/?)>/g
const ID = /\sid\s*=\s*["']([^"']*)["']/
const REFERENCE = /(?:href\s*=\s*["']\s*|url\(\s*["']?)#([^"')\s]+)/g
const MAX_DEPTH = 250
/** Maximum number of recorded references. Each is recorded once per ancestor. */
const MAX_REFERENCES = 1_000_000

/**
 * The cost of rendering an SVG document, in plain elements. Referenced elements (`use`, patterns, masks, markers, filters)
 * count once per reference, so a few elements that refer to each other may cost billions.
 * @param source the document as it was sent. Character references do not start or end tags
 * @param read decodes the character references and escapes of an attribute or style sheet
 * @returns Infinity if the nesting is too deep, or if there are too many references
 */
export function renderingCost(source: string, read: (text: string) => string): number {
  const outline = outlineOf(source, read)
  if (outline === undefined) return Infinity
  const costOfId = costsById(outline.parts)
  return costOfId(WHOLE) + styleCost(outline, costOfId)
}

/** The key of the whole document. No id is empty. */
const WHOLE = ''

/** @returns a function that gives the cost of an element by id, including what it refers to */
function costsById(parts: ReadonlyMap<string, Part>): (id: string) => number {
  const known = new Map<string, number>()
  const resolve = (id: string, level: number): number => {
    if (level > MAX_DEPTH) return Infinity
    const previous = known.get(id)
    if (previous !== undefined) return previous
    const { cost, references } = parts.get(id) ?? { cost: 0, references: [] }
    // Renderers skip references to an ancestor, so they cost nothing.
    known.set(id, 0)
    const total = references.reduce((sum, other) => sum + other.times * resolve(other.id, level + 1), cost)
    known.set(id, total)
    return total
  }
  return (id) => resolve(id, 0)
}

/** The cost that style sheets add, assuming that each rule applies to every element. */
function styleCost({ elements, points, text }: Outline, costOfId: (id: string) => number): number {
  const places = elements + (/\bmarker/i.test(text) ? points : 0)
  let cost = costOf(FUNCTIONS, text)
  for (const [, id = ''] of text.matchAll(REFERENCE)) {
    const referenced = costOfId(id)
    if (referenced >= MIN_STYLE_REFERENCE_COST) cost += referenced
  }
  const layers = costOf(LAYERS, text) > 0 ? 3 * elements : 0
  return cost * places + layers
}

function costOf(table: readonly (readonly [RegExp, number])[], text: string): number {
  return table.reduce((sum, [pattern, cost]) => sum + cost * (text.match(pattern)?.length ?? 0), 0)
}

/** Separates tags and text from CDATA. It takes linear time, unlike a regular expression, which would search for a missing end again from each start. */
function splitMarkup(text: string): { readonly markup: string; readonly data: string } {
  let markup = ''
  let data = ''
  let from = 0
  for (const { 0: begin, index } of text.matchAll(NON_ELEMENT)) {
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
  const { data, markup } = splitMarkup(source)
  const whole: Part = { cost: 0, references: [] }
  const parts = new Map<string, Part>([[WHOLE, whole]])
  const open: (Part | undefined)[] = [whole]
  let referenceCount = 0
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
    referenceCount += references.length * open.length
    if (open.length > MAX_DEPTH || referenceCount > MAX_REFERENCES) return undefined
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

/** The number of points of a path, a polyline or a polygon, rounded up. */
function pointsOf(attributes: string): number {
  const numbers = /\s(?:d|points)\s*=\s*["']([^"']*)/.exec(attributes)?.[1]?.match(/\d+/g)
  return numbers?.length ?? 0
}

function elementCost(name: string, attributes: string): number {
  const filter = name === 'feconvolvematrix' ? kernelCost(attributes) : (FILTER_COSTS[name] ?? 0)
  return 1 + filter + costOf(FUNCTIONS, attributes) + costOf(LAYERS, attributes)
}

function kernelCost(attributes: string): number {
  const [columns = 3, rows = columns] = (/\sorder\s*=\s*["']([^"']*)/.exec(attributes)?.[1]?.match(/\d+/g) ?? []).map(
    Number,
  )
  return KERNEL_VALUE_COST * Math.min(MAX_KERNEL_VALUES, columns * rows)
}
