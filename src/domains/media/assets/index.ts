/** What other domains and the composition may use of the media library. */

export { composeAssets } from './compose.ts'
export { RenditionNotPossible, StorageLimit } from './errors.ts'
export { fileKey, type Intake, type Received } from './intake.ts'
export { examineAsset } from './jobs.ts'
export type { AssetLibrary } from './library.ts'
export {
  playableAssets,
  playableRenditions,
  usableRenditions,
  type PlayableAsset,
  type PlayableRendition,
  type StreamingFacts,
} from './playable.ts'
export type { Quota } from './quota.ts'
export type { RenditionOrders } from './rendition-orders.ts'
