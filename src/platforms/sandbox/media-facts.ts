/** What a fake reads of a file, like a platform that examines uploads. */
export interface MediaFacts {
  readonly width?: number
  readonly height?: number
  readonly seconds?: number
  readonly fps?: number
  readonly pages?: number
}

const MARK = 'crier-media '

/**
 * The facts that a generated file states at its beginning. Real files state none, and a fake then enforces no rules about
 * them.
 */
export function mediaFacts(bytes: Buffer): MediaFacts {
  if (!bytes.subarray(0, MARK.length).equals(Buffer.from(MARK))) return {}
  const end = bytes.indexOf('\n')
  return JSON.parse(bytes.toString('utf8', MARK.length, end === -1 ? undefined : end)) as MediaFacts
}

/** A file of this size that states its facts. A file that is too small for them states none. */
export function generatedFile(facts: MediaFacts, size: number): Buffer {
  const file = Buffer.alloc(size, 7)
  const head = Buffer.from(`${MARK}${JSON.stringify(facts)}\n`)
  if (head.length <= size) head.copy(file)
  return file
}
