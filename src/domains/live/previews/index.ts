/** What other domains and the composition use of previews. */

export { composePreviews } from './compose.ts'
export type { OpenPreview, WhepLink } from './previews.ts'
