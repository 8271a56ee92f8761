import { PlatformError } from '../error-kinds.ts'
import type { AccountContext } from '../platform.ts'
import type { PublishContext, PublishPart, PublishState, Reconciled, RemotePost, StepResult } from '../publishing.ts'
import { callGraph, type GraphApi } from './graph.ts'
import { pollDelay } from './polling.ts'

/** The fields of a container to create. */
export type ContainerForm = Readonly<Record<string, string | undefined>>

/** The state of a container: `status` at Threads, `status_code` at Instagram. */
type ContainerStatus = 'IN_PROGRESS' | 'FINISHED' | 'PUBLISHED' | 'ERROR' | 'EXPIRED'

/**
 * Creates one container per step, waits until Meta has processed each of them, puts several into a carousel, and
 * publishes. A container works once and ends after 24 hours; then the steps begin again.
 */
export interface ContainerState extends PublishState {
  readonly step: 'create' | 'process' | 'publish' | 'link'
  /** Ids of the items of a carousel. */
  readonly items: readonly string[]
  /** The container that is published. */
  readonly container: string | null
  /** The published post. */
  readonly post: string | null
  /** How often the status was read since the last container was created. */
  readonly polls: number
  /** How often the steps began again, or a call to publish was refused. */
  readonly repeats: number
}

/** How one of the two platforms uses containers. */
export interface ContainerApi {
  readonly api: GraphApi
  /** The edges below the account. */
  readonly createEdge: string
  readonly publishEdge: string
  readonly statusField: 'status' | 'status_code'
  /** The field that explains the status `ERROR`. */
  readonly errorField: 'status' | 'error_message'
  /** Errors of processing that do not depend on the file, so that a new container can work. */
  readonly transient: RegExp
  /** How many containers the part needs: 1, or the number of items of a carousel. */
  readonly countOf: (part: PublishPart) => number
  /** The form of an item of a carousel. */
  readonly itemForm: (context: PublishContext, part: PublishPart, index: number) => Promise<ContainerForm>
  /** The form of the container that is published. */
  readonly postForm: (context: PublishContext, part: PublishPart, items: readonly string[]) => Promise<ContainerForm>
  /** Further ids of the post. */
  readonly idsOf?: (part: PublishPart) => RemotePost['ids']
  /** Looks for the post in the lists of the account. */
  readonly find: (context: AccountContext, part: PublishPart) => Promise<RemotePost | undefined>
}

const MAX_REPEATS = 3

export const NEW_CONTAINERS: ContainerState = {
  step: 'create',
  items: [],
  container: null,
  post: null,
  polls: 0,
  repeats: 0,
}

/** @throws PlatformError */
export async function containerStep(
  use: ContainerApi,
  context: PublishContext,
  part: PublishPart,
  state: ContainerState,
): Promise<StepResult> {
  if (state.step === 'create') return create(use, context, part, state)
  if (state.step === 'process') return process(use, context, part, state)
  return state.step === 'publish' ? publish(use, context, state) : link(use, context, part, state)
}

async function create(use: ContainerApi, context: PublishContext, part: PublishPart, state: ContainerState) {
  const { items } = state
  const count = use.countOf(part)
  const isItem = count > 1 && items.length < count
  const form = isItem ? await use.itemForm(context, part, items.length) : await use.postForm(context, part, items)
  const { id } = (await callGraph(use.api, context, `${context.remoteId}/${use.createEdge}`, {
    method: 'POST',
    form,
  })) as { id: string }
  if (!isItem) return next({ ...state, step: 'process', container: id, polls: 0 })
  const all = [...items, id]
  // The carousel takes items only when they are processed.
  return next({ ...state, step: all.length < count ? 'create' : 'process', items: all, polls: 0 })
}

async function process(use: ContainerApi, context: PublishContext, part: PublishPart, state: ContainerState) {
  const { container, items, polls } = state
  for (const id of container === null ? items : [container]) {
    const { reason, status } = await statusOf(use, context, id)
    if (status === 'IN_PROGRESS') return next({ ...state, polls: polls + 1 }, pollDelay(polls))
    if (status === 'EXPIRED') return again(use, state, 'The file was not processed within 24 hours.')
    if (status === 'ERROR') {
      if (use.transient.test(reason)) return again(use, state, reason)
      throw failed(use, reason)
    }
    // Only after a call to publish whose reply was lost or was an error.
    if (status === 'PUBLISHED') {
      const post = await use.find(context, part)
      return post === undefined
        ? next({ ...state, polls: polls + 1 }, pollDelay(polls))
        : ({ kind: 'published', post } satisfies StepResult)
    }
  }
  return next({ ...state, step: container === null ? 'create' : 'publish' })
}

async function publish(use: ContainerApi, context: PublishContext, state: ContainerState): Promise<StepResult> {
  try {
    const { id } = (await callGraph(use.api, context, `${context.remoteId}/${use.publishEdge}`, {
      method: 'POST',
      form: { creation_id: state.container ?? '' },
    })) as { id: string }
    return next({ ...state, step: 'link', post: id })
  } catch (error) {
    // Not ready (9007), or not found (24): the container is processed, has ended, or is published. Its status says which.
    const isAboutContainer = error instanceof PlatformError && /^(?:24|9007)(?:\/|$)/.test(error.code ?? '')
    if (!isAboutContainer || state.repeats >= MAX_REPEATS) throw error
    return next({ ...state, step: 'process', polls: 0, repeats: state.repeats + 1 }, pollDelay(state.repeats))
  }
}

/** The address of the post. The post is published, so nothing that fails here may count as a failure. */
async function link(use: ContainerApi, context: PublishContext, part: PublishPart, { post }: ContainerState) {
  const ids = use.idsOf?.(part)
  const found = { id: post ?? '', ...(ids !== undefined && { ids }) }
  try {
    const { permalink = null } = (await callGraph(use.api, context, found.id, {
      query: { fields: 'id,permalink' },
    })) as { permalink?: string }
    return { kind: 'published', post: { ...found, url: permalink } } satisfies StepResult
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return { kind: 'published', post: { ...found, url: null } } satisfies StepResult
  }
}

/** Whether a container whose call to publish was lost is published. @throws PlatformError */
export async function reconcileContainer(
  use: ContainerApi,
  context: AccountContext,
  part: PublishPart,
  { container }: ContainerState,
): Promise<Reconciled> {
  const { status } = await statusOf(use, context, container ?? '')
  if (status !== 'PUBLISHED') return { kind: 'absent' }
  const post = await use.find(context, part)
  if (post !== undefined) return { kind: 'published', post }
  return { kind: 'unknown', reason: `${use.api.title} has published the post, but does not list it yet.` }
}

async function statusOf({ api, errorField, statusField }: ContainerApi, context: AccountContext, id: string) {
  const reply = (await callGraph(api, context, id, {
    query: { fields: [...new Set(['id', statusField, errorField])].join(',') },
  })) as Readonly<Record<string, string | undefined>>
  return { status: reply[statusField] as ContainerStatus, reason: reply[errorField] ?? '' }
}

/** Begins with new containers, because the old ones cannot be published. */
function again(use: ContainerApi, { repeats }: ContainerState, reason: string): StepResult {
  if (repeats >= MAX_REPEATS) throw failed(use, reason)
  return next({ ...NEW_CONTAINERS, repeats: repeats + 1 }, pollDelay(repeats))
}

function failed({ api }: ContainerApi, reason: string): PlatformError {
  const [code] = /\d{7}|[A-Z]{3,}(?:_[A-Z]+)*/.exec(reason) ?? []
  return new PlatformError('media_processing', api.title, {
    code,
    detail: reason === '' ? 'The file could not be processed.' : reason,
    mayHaveHappened: false,
  })
}

function next(state: ContainerState, waitMs?: number): StepResult {
  return { kind: 'next', state, ...(waitMs !== undefined && { waitMs }) }
}
