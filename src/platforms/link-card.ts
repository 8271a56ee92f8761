/** What a page says of itself, for the card of a link. */
export interface LinkCard {
  /** The host of the link if the page says nothing, or cannot be read. */
  readonly title: string
  /** Empty if there is none. */
  readonly description: string
  readonly imageUrl?: string
}

/** A picture for a card, made anew from the one of the page. */
export interface CardPicture {
  readonly bytes: Buffer
  readonly type: 'image/jpeg'
}

/** Reads the pages that links lead to. What cannot be read is left out: a card never prevents a post. */
export interface LinkPages {
  /**
   * The card of a link, for platforms that do not read the page themselves.
   * @throws only the reason of `signal`
   */
  card(url: string, signal?: AbortSignal): Promise<LinkCard>
  /**
   * The picture of a card with at most this many bytes; undefined if it cannot be had.
   * @throws only the reason of `signal`
   */
  picture(url: string, mostBytes: number, signal?: AbortSignal): Promise<CardPicture | undefined>
}

/** The card of a link whose page says nothing. */
export function plainCard(url: string): LinkCard {
  return { title: URL.parse(url)?.host ?? url, description: '' }
}

/** A link in a text ends before the punctuation of its sentence, and before the bracket that encloses it. */
export function withoutPunctuation(link: string): string {
  const trimmed = link.replace(/(?<![.,;:!?])[.,;:!?]+$/, '')
  return trimmed.endsWith(')') && !trimmed.includes('(') ? trimmed.slice(0, -1) : trimmed
}
