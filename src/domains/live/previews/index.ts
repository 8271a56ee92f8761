/** What other domains and the composition use of previews. */

export { type OpenPreview, Previews, type WhepLink } from './previews.ts'
