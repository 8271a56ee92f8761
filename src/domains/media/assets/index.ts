/** What other domains and the composition use from the media library. */

export { RenditionNotPossible, StorageLimit } from './errors.ts'
export { fileKey, type Intake, type ReceivedFile } from './intake.ts'
export type { AssetFolders } from './folders.ts'
export { examineAsset } from './jobs.ts'
export type { AssetLibrary } from './library.ts'
export { localCopy } from './local-copy.ts'
export {
  playableAssets,
  playableRenditions,
  usableRenditions,
  type PlayableAsset,
  type PlayableRendition,
  type StreamingFacts,
} from './playable.ts'
export type { Quota } from './quota.ts'
export type { RenditionRequests } from './rendition-requests.ts'
export { postFiles, refKey, storedFiles, type MediaRef, type PostFile, type PostFiles } from './post-media.ts'
export { findAssets } from './store.ts'
export type { UrlImports } from './url-imports.ts'
export type { UrlCheck } from './uploads/url-check.ts'
export { Asset } from './tables.ts'
export type { AssetUse } from './uses.ts'
