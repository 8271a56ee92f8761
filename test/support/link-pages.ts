import { plainCard, type LinkPages } from '../../src/platforms/link-card.ts'

/** Pages that say nothing. Nothing is read, so that tests need no network. */
export const PLAIN_PAGES: LinkPages = {
  card: (url) => Promise.resolve(plainCard(url)),
  picture: () => Promise.resolve(undefined),
}
