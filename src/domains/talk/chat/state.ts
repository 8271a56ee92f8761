/**
 * The state of a channel in a client, and the reducer that applies changes to it. It imports types only: the server, the
 * SDK and the tests run this file, so a client that applies every change has the state of the server.
 */
import type { ChangeData, ChangeKind, ChannelData, MessageData, SnapshotData } from './schemas.ts'

/** Number of newest messages that a state holds. */
export const WINDOW = 100

export interface ChannelState {
  readonly seq: number
  /** What `seq` belongs to, as the server has named it. Undefined before its first reply. */
  readonly generation?: string
  /** Null before the first change. */
  readonly channel: ChannelData | null
  /** The newest `WINDOW`, by ascending `seq`. */
  readonly messages: readonly MessageData[]
  /** Ids of all pinned messages, sorted. */
  readonly pins: readonly string[]
}

export const EMPTY: ChannelState = { seq: 0, channel: null, messages: [], pins: [] }

/** A change arrived before an earlier one. The client must sync the missing changes. */
export class GapError extends Error {
  override readonly name = 'GapError'
  readonly expected: number
  readonly found: number

  constructor(expected: number, found: number) {
    super(`expected change ${expected} of the channel, found ${found}`)
    this.expected = expected
    this.found = found
  }
}

export function fromSnapshot({ channel, seq, messages, pins }: SnapshotData): ChannelState {
  return { seq, channel, messages: messages.slice(-WINDOW), pins: [...pins].sort(byCode) }
}

/**
 * Applies a change. A change that was applied before has no effect.
 * @throws GapError when changes are missing before it
 */
export function applyChange(state: ChannelState, change: ChangeData): ChannelState {
  if (change.seq <= state.seq) return state
  if (change.seq !== state.seq + 1) throw new GapError(state.seq + 1, change.seq)
  const step = STEPS[change.type] as Step<ChangeKind>
  return { ...step(state, change.data, change), seq: change.seq }
}

type Step<K extends ChangeKind> = (
  state: ChannelState,
  data: Extract<ChangeData, { type: K }>['data'],
  change: Pick<ChangeData, 'at' | 'actorId' | 'seq'>,
) => ChannelState

const STEPS: { readonly [K in ChangeKind]: Step<K> } = {
  channel: (state, { channel }) => ({ ...state, channel }),

  members: (state, { added, removed }) => {
    if (state.channel === null) return state
    const kept = state.channel.memberIds.filter((id) => !removed.includes(id) && !added.includes(id))
    return { ...state, channel: { ...state.channel, memberIds: [...kept, ...added].sort(byCode) } }
  },

  message: (state, { message }, { at, seq }) => {
    const answered = withMessage(state, message.replyTo, ({ thread }) => ({
      thread: { replyCount: thread.replyCount + 1, lastReplySeq: seq, lastReplyAt: at },
    }))
    return { ...answered, messages: [...answered.messages, message].slice(-WINDOW) }
  },

  edit: (state, { messageId, body, mentions, edits }, { at }) =>
    withMessage(state, messageId, () => ({ body, mentions, edits, editedAt: at, updatedAt: at })),

  delete: (state, { messageId, replyTo }, { at }) => {
    const answered = withMessage(state, replyTo, ({ thread }) => ({
      thread: { ...thread, replyCount: thread.replyCount - 1 },
    }))
    const erased = withMessage(answered, messageId, () => ({ ...ERASED, deletedAt: at, updatedAt: at }))
    return { ...erased, pins: erased.pins.filter((id) => id !== messageId) }
  },

  react: (state, { messageId, emoji }, { actorId }) =>
    withMessage(state, messageId, ({ reactions }) => ({ reactions: withReaction(reactions, emoji, actorId) })),

  unreact: (state, { messageId, emoji }, { actorId }) =>
    withMessage(state, messageId, ({ reactions }) => ({ reactions: withoutReaction(reactions, emoji, actorId) })),

  pin: (state, { messageId }, { at, actorId }) => {
    const pinned = withMessage(state, messageId, () => ({ pinnedAt: at, pinnedBy: actorId }))
    return { ...pinned, pins: [...pinned.pins.filter((id) => id !== messageId), messageId].sort(byCode) }
  },

  unpin: (state, { messageId }) => {
    const unpinned = withMessage(state, messageId, () => ({ pinnedAt: null, pinnedBy: null }))
    return { ...unpinned, pins: unpinned.pins.filter((id) => id !== messageId) }
  },
}

/** A deleted message keeps its number, author and thread. */
export const ERASED: Pick<MessageData, 'body' | 'attachments' | 'mentions' | 'reactions' | 'pinnedAt' | 'pinnedBy'> = {
  body: '',
  attachments: [],
  mentions: { userIds: [], everyone: false },
  reactions: [],
  pinnedAt: null,
  pinnedBy: null,
}

/** Messages outside the window are not in the state, so a change of one has no effect. */
function withMessage(
  state: ChannelState,
  id: string | null,
  change: (message: MessageData) => Partial<MessageData>,
): ChannelState {
  const index = state.messages.findLastIndex((message) => message._id === id)
  const message = state.messages[index]
  return message === undefined
    ? state
    : { ...state, messages: state.messages.with(index, { ...message, ...change(message) }) }
}

type Reactions = MessageData['reactions']

export function withReaction(reactions: Reactions, emoji: string, userId: string): Reactions {
  const known = reactions.find((reaction) => reaction.emoji === emoji)
  if (known?.userIds.includes(userId)) return reactions
  const userIds = [...(known?.userIds ?? []), userId]
  return [...reactions.filter((reaction) => reaction !== known), { emoji, userIds }].sort((a, b) =>
    byCode(a.emoji, b.emoji),
  )
}

export function withoutReaction(reactions: Reactions, emoji: string, userId: string): Reactions {
  return reactions
    .map((reaction) =>
      reaction.emoji === emoji
        ? { emoji, userIds: reaction.userIds.filter((reactor) => reactor !== userId) }
        : reaction,
    )
    .filter((reaction) => reaction.userIds.length > 0)
}

/** Orders by UTF-16 code units, which is the same in every locale. */
export function byCode(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** A hash of a state without its generation that does not depend on the order of fields (FNV-1a, 64 bits, hex). */
export function stateHash(state: ChannelState): string {
  const text = canonical({ ...state, generation: undefined })
  let hash = 0xcbf29ce484222325n
  for (let index = 0; index < text.length; index += 1) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n)
  }
  return hash.toString(16).padStart(16, '0')
}

/** JSON with sorted fields. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => byCode(a, b))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join()}}`
}
