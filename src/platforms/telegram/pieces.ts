import type { TextPart } from '../rules/split.ts'

/** An entity of a message, by the markup that opens and closes it. */
export interface Entity {
  readonly open: string
  readonly close: string
}

/** A quotation of MarkdownV2, each of whose lines begins with `>`. */
export interface Quote {
  /** `**>` begins a quotation directly after another one. */
  readonly mark: '>' | '**>'
  /** Whether it ends with `||` and is shown collapsed. */
  readonly isExpandable: boolean
}

/** A piece of a text, with the markup around it. */
export interface Piece {
  readonly plain: string
  /** The text in markup. If it differs from `plain`, the piece is a single escaped character. */
  readonly source: string
  /** The entities that it is in, from the outermost to the innermost. */
  readonly entities: readonly Entity[]
  readonly quote: Quote | undefined
  /** Whether the piece is a line break that ends a line of the markup. Line breaks within code do not. */
  readonly endsLine: boolean
}

/** The text without its markup. */
export function plainOf(pieces: readonly Piece[]): string {
  return pieces.map(({ plain }) => plain).join('')
}

/** Joins adjacent pieces that differ only in their text. */
export function joined(pieces: Iterable<Piece>): Piece[] {
  const all: Piece[] = []
  for (const piece of pieces) {
    const last = all.at(-1)
    if (last !== undefined && isLiteral(last) && isLiteral(piece) && isAlike(last, piece)) {
      const plain = last.plain + piece.plain
      all[all.length - 1] = { ...last, plain, source: plain }
    } else all.push(piece)
  }
  return all
}

function isLiteral({ endsLine, plain, source }: Piece): boolean {
  return plain === source && !endsLine
}

function isAlike(one: Piece, other: Piece): boolean {
  return one.entities === other.entities && one.quote === other.quote
}

/** A part of a text in markup. Entities that a cut divides are closed in one part and opened again in the next. */
export function partOf(pieces: readonly Piece[], { added, end, start }: TextPart): string {
  const within: Piece[] = []
  let at = 0
  for (const piece of pieces) {
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, piece.plain.length)]
    at += piece.plain.length
    if (from >= to) continue
    const plain = piece.plain.slice(from, to)
    within.push(piece.source === piece.plain ? { ...piece, plain, source: plain } : piece)
  }
  const quote = within.at(-1)?.quote
  if (added !== '') within.push({ plain: added, source: added, entities: [], quote, endsLine: false })
  return new Writer().all(within)
}

/** Writes pieces in markup. */
class Writer {
  #text = ''
  /** The mark that the text ends with. */
  #mark = ''
  #open: readonly Entity[] = []
  #quote: Quote | undefined
  #isLineStart = true

  all(pieces: readonly Piece[]): string {
    for (const piece of pieces) this.#add(piece)
    this.#close(0)
    this.#leave(undefined)
    return this.#text
  }

  #add({ endsLine, entities, quote, source }: Piece): void {
    let kept = 0
    while (kept < this.#open.length && this.#open[kept] === entities[kept]) kept += 1
    this.#close(kept)
    this.#leave(quote)
    if (quote !== undefined && this.#isLineStart) {
      this.#text += quote === this.#quote || this.#text === '' ? '>' : quote.mark
      this.#mark = ''
    }
    this.#quote = quote
    for (const { open } of entities.slice(kept)) this.#put(open)
    this.#open = entities
    this.#text += source
    this.#mark = ''
    this.#isLineStart = endsLine
  }

  #close(kept: number): void {
    for (const { close } of this.#open.slice(kept).toReversed()) this.#put(close)
    this.#open = this.#open.slice(0, kept)
  }

  /** Ends the quotation, unless the next piece is in it. */
  #leave(next: Quote | undefined): void {
    if (this.#quote !== next && this.#quote?.isExpandable === true) this.#put('||')
  }

  #put(mark: string): void {
    // `__` is read before `_`. An empty bold entity keeps them apart (core.telegram.org/bots/api#markdownv2-style, 2026-11).
    const isAmbiguous = mark.startsWith('_') && this.#mark.endsWith('_') && this.#mark !== '__'
    this.#text += isAmbiguous ? `**${mark}` : mark
    this.#mark = mark
  }
}
