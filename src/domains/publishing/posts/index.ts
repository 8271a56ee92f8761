/** What other domains use of posts. */

export { type Actor, findActors } from './actors.ts'
export type { ApprovalGate, GatedChange } from './approval/gate.ts'
export { APPROVAL_DECISIONS, ApprovalRule, type PostApprovalData, type PostDecisionData } from './approval/schemas.ts'
export { calledTargets, lockTargets } from './called.ts'
export { allRefs, bodyFor, bodyOf, contentFor, overrideOf, refsIn } from './content.ts'
export { countPosts } from './counts.ts'
export {
  AccountNotUsable,
  BudgetExceeded,
  BulkRefused,
  ModelTextNotReleased,
  PlatformRefusesPost,
  PostNotPossible,
  QueueFull,
  SCHEDULING_ERRORS,
} from './errors.ts'
export { postCreated, postDeleted, postRestored } from './events.ts'
export { type FeedPost, feedPosts } from './feed-posts.ts'
export { fixViews } from './fixes.ts'
export { findPostView, linkedPosts, unlinkIdeas } from './idea-links.ts'
export { act, canAct, notPossible } from './moves.ts'
export {
  commentAdded,
  commentMentioned,
  postFailed,
  postPublished,
  postUnconfirmed,
  recurringPostFailed,
  recurringPostPaused,
  schedulerRecovered,
  schedulerStopped,
} from './notifications.ts'
export { type DecisionScope, dryScope, type PlanningScope } from './planning-scope.ts'
export { postName } from './post-name.ts'
export { problemOf, PROBLEMS } from './problems/problems.ts'
export { publishedTexts } from './published-texts.ts'
export { publishedTargets, targetsOf } from './published.ts'
export type { PostFilter, PostReader } from './reader.ts'
export { loadOf, type TargetLoad } from './reservations/load.ts'
export { reservationsOf, RESERVING, type TurnReservations } from './reservations/turn-reservations.ts'
export { type BookedTime, markOf } from './reservations/window.ts'
export { addVersion, saveVersion } from './saving.ts'
export {
  CreatedPost,
  type MediaRef,
  MediaView,
  MAX_LABELS,
  NewPost,
  newPostFields,
  type NewPostInput,
  type PlatformPostData,
  type PostBody,
  PostChange,
  type PostChangeInput,
  PostCheck,
  postContentFields,
  PostCopy,
  type PostCopyInput,
  type PostData,
  PostListFilter,
  PostPath,
  PostView,
  PostWarning,
  type PostWarningData,
  ReasonView,
  RecurrenceInput,
  type RecurrenceInputData,
  Reschedule,
  rescheduleFields,
  type RescheduleInput,
  ScheduledFor,
  type TargetCheckData,
  type TargetOverride,
  ThreadPart,
  TimeZone,
  Variations,
} from './schemas.ts'
export { snapshotOf } from './snapshot.ts'
export { statusOfPost, type TargetAction, type TargetStatus, TargetStatusSchema } from './state.ts'
export { deletePost, insertPost, type LoadedPost, loadPost, loadPosts, loadTarget, savePost } from './store.ts'
export {
  Post,
  postAttempts,
  postCounts,
  type PostRow,
  posts,
  postSegments,
  type PostSnapshot,
  PostTarget,
  postTargets,
  postVersions,
  type PublicationBeat,
  publicationBeats,
  type SegmentRow,
  type SegmentStatus,
  type TargetProblem,
  type TargetRow,
  type VersionKind,
  type VersionRow,
} from './tables.ts'
export { approvedByPerson, isPerson, released, requireRelease, type TextRelease } from './text-origin/release.ts'
export { PostTextOrigin, type PostTextOriginData } from './text-origin/schemas.ts'
export type { PostFacts } from './views.ts'
