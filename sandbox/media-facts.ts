/** What a platform learns of a file when it examines it. */
export interface MediaFacts {
  /** The media type by the content, whatever the upload says. */
  readonly type?: string
  readonly width?: number
  readonly height?: number
  readonly seconds?: number
  readonly fps?: number
  readonly codec?: string
  readonly pages?: number
}

type Range = readonly [least: number, most: number]

/** What a platform takes, as its fake states it. */
export interface MediaBounds {
  readonly types?: readonly string[]
  readonly codecs?: readonly string[]
  readonly seconds?: Range
  readonly fps?: Range
  readonly width?: Range
  readonly height?: Range
  /** Width divided by height. */
  readonly ratio?: Range
  readonly pixels?: Range
  readonly pages?: Range
}

const MARK = 'crier-media '

/**
 * The facts that a generated file states at its beginning. Real files state none, and a fake then enforces no rules about
 * them.
 */
export function mediaFacts(bytes: Buffer): MediaFacts {
  if (bytes.toString('latin1', 0, MARK.length) !== MARK) return {}
  const end = bytes.indexOf('\n')
  return JSON.parse(bytes.toString('utf8', MARK.length, end === -1 ? undefined : end)) as MediaFacts
}

/** The facts of a file that a platform would fetch. Fakes fetch nothing, so the URL states the facts. */
export function mediaFactsOfUrl(address: string): MediaFacts {
  const facts = URL.parse(address)?.searchParams.get('facts')
  return facts === null || facts === undefined ? {} : (JSON.parse(facts) as MediaFacts)
}

/** A file of this size that states its facts. A file that is too small for them states none. */
export function generatedFile(facts: MediaFacts, size: number): Buffer<ArrayBuffer> {
  const file = Buffer.alloc(size, 7)
  const head = Buffer.from(`${MARK}${JSON.stringify(facts)}\n`)
  if (head.length <= size) head.copy(file)
  return file
}

/** The first bound that a file violates. Unknown facts violate none. */
export function breachOf(facts: MediaFacts, bounds: MediaBounds): keyof MediaBounds | undefined {
  const { codec, fps, height, pages, seconds, type, width } = facts
  if (type !== undefined && bounds.types?.includes(type) === false) return 'types'
  if (codec !== undefined && bounds.codecs?.includes(codec) === false) return 'codecs'
  const hasSize = width !== undefined && height !== undefined
  const values = {
    seconds,
    fps,
    width,
    height,
    ratio: hasSize ? width / height : undefined,
    pixels: hasSize ? width * height : undefined,
    pages,
  }
  // `Object.keys` returns strings, not the type of its keys.
  return (Object.keys(values) as (keyof typeof values)[]).find((name) => {
    const value = values[name]
    const [least, most] = bounds[name] ?? [-Infinity, Infinity]
    return value !== undefined && (value < least || value > most)
  })
}
