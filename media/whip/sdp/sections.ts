/** The lines of a session description, split into the session part and one section per medium. */
export interface Sections {
  readonly session: readonly string[]
  readonly media: readonly (readonly string[])[]
}

/** The parts of an `m=` line. */
export interface MediaLine {
  readonly kind: string
  readonly port: string
  readonly protocol: string
  readonly formats: readonly string[]
}

export function splitSections(text: string): Sections {
  const session: string[] = []
  const media: string[][] = []
  for (const line of text.split(/\r\n|\n/)) {
    if (line === '') continue
    if (line.startsWith('m=')) media.push([])
    ;(media.at(-1) ?? session).push(line)
  }
  return { session, media }
}

export function joinSections({ session, media }: Sections): string {
  return [...session, ...media.flat()].map((line) => `${line}\r\n`).join('')
}

export function mediaLine(section: readonly string[]): MediaLine {
  const [kind = '', port = '', protocol = '', ...formats] = (section[0] ?? '').slice(2).split(' ')
  return { kind, port, protocol, formats }
}

/** The value of `a=name:value`; '' for `a=name`; undefined if the attribute is missing. */
export function attribute(section: readonly string[], name: string): string | undefined {
  const line = section.find((candidate) => candidate === `a=${name}` || candidate.startsWith(`a=${name}:`))
  return line?.slice(name.length + 3)
}

/** All values of an attribute that can occur several times. */
export function attributes(section: readonly string[], name: string): string[] {
  return section.filter((line) => line.startsWith(`a=${name}:`)).map((line) => line.slice(name.length + 3))
}
