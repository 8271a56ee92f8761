import { choicesOf } from '../choices.ts'
import type { AccountContext, LiveCapabilities, NewPlace, Place } from '../platform.ts'
import { call } from './api.ts'

interface Board {
  readonly id: string
  readonly name: string
  readonly privacy?: string
}

interface Page {
  readonly items?: readonly Board[]
  readonly bookmark?: string | null
}

const PAGE_SIZE = 250
/** More boards than an account can have (2,000). */
const MAX_PAGES = 10

/** The boards of the account, and group boards that it can publish to. */
export async function places(context: AccountContext): Promise<readonly Place[]> {
  const found: Place[] = []
  let bookmark: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { bookmark: next, items = [] } = (await call(context, '/boards', {
      query: { page_size: PAGE_SIZE, bookmark },
    })) as Page
    found.push(...items.map(placeOf))
    if (typeof next !== 'string' || next === '') break
    bookmark = next
  }
  return found
}

/** Creates a board. */
export async function createPlace(context: AccountContext, place: NewPlace): Promise<Place> {
  const { description, name, privacy = 'PUBLIC' } = place
  const json = { name, privacy, ...(description !== undefined && { description }) }
  return placeOf((await call(context, '/boards', { method: 'POST', json })) as Board)
}

/** Whether the account can publish. Pinterest reports no limits. */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const boards = await places(context)
  const isSandbox = new URL(context.settings.apiUrl).hostname.includes('sandbox')
  return {
    limits: {},
    blocked:
      boards.length > 0 ? {} : { publish: 'The account has no board. Create one, because each Pin needs a board.' },
    choices: { board_id: choicesOf(boards) },
    details: {
      ...(isSandbox && { sandbox: 'This server uses the sandbox of Pinterest: only its author sees a Pin.' }),
    },
  }
}

function placeOf({ id, name, privacy }: Board): Place {
  return { id, name, kind: 'board', url: null, ...(privacy !== undefined && { privacy }) }
}
