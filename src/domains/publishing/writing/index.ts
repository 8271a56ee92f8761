/** What other domains use of writing. */

export type { PostActions } from './actions.ts'
export { boardColumn, postsInReview, submittedPosts, type SubmittedStatus, versionOf } from './approval/reviewed.ts'
export { changedParts, changesBetween, seenHash } from './approval/seen.ts'
export type { BulkChanges } from './bulk-changes/changes.ts'
export {
  BULK_RULES,
  BulkChangePath,
  BulkChangeReply,
  type BulkChangeReplyData,
  SelectedPosts,
  selectionFields,
} from './bulk-changes/schemas.ts'
export { selectedIds } from './bulk-changes/selection.ts'
export { guestComments, type GuestComment } from './comments/guest-comments.ts'
export { PostChanges } from './changes/schemas.ts'
export { canonicalJson } from './changes/snapshot.ts'
export type { ModelTexts } from './text-origin/model-texts.ts'
export { ActorView } from './versions/schemas.ts'
