import { choicesIn } from '../choices.ts'
import type { AccountContext, LiveCapabilities, Place, PlatformContext, Profile } from '../platform.ts'
import { call, type Listing } from './call.ts'
import { choosableFlairs } from './requirements.ts'

interface Me {
  readonly id: string
  readonly name: string
  readonly icon_img?: string
  readonly is_suspended?: boolean
  readonly has_verified_email?: boolean
  readonly total_karma?: number
  readonly created_utc?: number
}

interface Subreddit {
  readonly display_name: string
  readonly title?: string
  readonly url: string
  readonly subreddit_type: string
  readonly user_is_banned?: boolean
}

const PAGE = 100
/** More than users see in a list. */
const MAX_PAGES = 10

/** The user that a token belongs to. @throws PlatformError */
export async function profileOf(context: PlatformContext, credential: AccountContext['credential']): Promise<Profile> {
  const { icon_img: icon = '', id, name } = await call<Me>({ ...context, credential }, '/api/v1/me')
  return {
    remoteId: id,
    name,
    handle: name,
    avatarUrl: icon === '' ? null : icon.split('?', 1)[0]!,
    url: `https://www.reddit.com/user/${name}`,
    kind: 'person',
  }
}

/** Whether Reddit lets the account publish. New accounts and accounts with little karma are limited by subreddits. */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const {
    created_utc,
    has_verified_email: isVerified,
    is_suspended,
    total_karma,
  } = await call<Me>(context, '/api/v1/me')
  const joined = places(context)
  const subreddits = await choicesIn(context, 'subreddit', () => joined)
  const flairs = await choicesIn(context, 'flair_id', async () => flairsOf(context, await joined))
  return {
    limits: {},
    choices: { ...subreddits, ...flairs },
    blocked: is_suspended === true ? { publish: 'Reddit has suspended this account.' } : {},
    details: {
      ...(isVerified !== undefined && { verifiedEmail: isVerified }),
      ...(total_karma !== undefined && { karma: total_karma }),
      ...(created_utc !== undefined && { createdAt: new Date(created_utc * 1_000).toISOString() }),
    },
  }
}

/** The account's own profile and the subreddits that it has joined, without those that have banned it. */
export async function places(context: AccountContext): Promise<readonly Place[]> {
  const { name } = await call<Me>(context, '/api/v1/me')
  const found: Place[] = [
    { id: `u_${name}`, name: `u/${name}`, kind: 'profile', url: `https://www.reddit.com/user/${name}` },
  ]
  let after: string | null = null
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { data }: Listing<Subreddit> = await call<Listing<Subreddit>>(context, '/subreddits/mine/subscriber', {
      query: { limit: PAGE, after: after ?? undefined },
    })
    for (const { data: subreddit } of data.children)
      if (subreddit.user_is_banned !== true) found.push(placeOf(subreddit))
    after = data.after
    if (after === null) break
  }
  return found
}

/** Each subreddit costs a call, of 100 a minute that Reddit allows the app for all accounts. */
const MAX_WITH_FLAIRS = 5

/** The flairs of the first subreddits that the account has joined. Their names say which subreddit has them. */
async function flairsOf(context: AccountContext, joined: readonly Place[]): Promise<readonly Place[]> {
  const subreddits = joined.filter(({ kind }) => kind === 'subreddit').slice(0, MAX_WITH_FLAIRS)
  const found: Place[] = []
  for (const { id: subreddit, name, url } of subreddits) {
    const all = (await choosableFlairs(context, subreddit)) ?? []
    found.push(...all.map(({ id, text }) => ({ id, name: `${name}: ${text}`, kind: 'flair', url })))
  }
  return found
}

function placeOf({ display_name: name, subreddit_type: type, url }: Subreddit): Place {
  return { id: name, name: `r/${name}`, kind: 'subreddit', url: `https://www.reddit.com${url}`, privacy: type }
}
