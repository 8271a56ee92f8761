import type { Static, TObject, TSchema } from 'typebox'
import type { Clock } from '../core/clock.ts'
import type { Analytics } from './analytics.ts'
import type { PostContent } from './content.ts'
import type { PlatformHttp, ReplyReader } from './http/platform-http.ts'
import type { Publishing } from './publishing.ts'
import type { Limits } from './rules/limits.ts'
import type { Confidence, Rule } from './rules/rule.ts'
import type { TextPart } from './rules/split.ts'

/** The app that the operator has registered at a platform, and where the platform is. */
export interface PlatformSettings {
  readonly clientId?: string
  readonly clientSecret?: string
  /** Base URL of the API, without a trailing slash. */
  readonly apiUrl: string
  /** Base URL of the pages where users give consent. */
  readonly authUrl: string
  /** Base URLs of the other servers that the platform has, by name, without trailing slashes. */
  readonly servers?: Readonly<Record<string, string>>
  /** The address of the fake, while the sandbox is on. */
  readonly sandboxUrl?: string
}

/** A server that a platform needs beside its API and its consent pages. The operator can name another. */
export interface PlatformServer {
  /** The environment variable, such as `ATPROTO_PLC_URL`. */
  readonly setting: string
  readonly summary: string
  /** The default. */
  readonly url: string
}

/**
 * What gives access to an account. Stored encrypted; only the platform reads the fields beyond the common ones.
 */
export interface Credential {
  readonly accessToken?: string
  readonly refreshToken?: string
  /** Milliseconds since the epoch; undefined for a token that does not expire. */
  readonly expiresAt?: number
  readonly refreshExpiresAt?: number
  readonly scopes?: readonly string[]
  /** The key of `PlatformContext.keys` that the grant is bound to. */
  readonly clientKeyId?: string
  /** Base URL of the account's own server: an instance, a site, a PDS. */
  readonly server?: string
  readonly [extra: string]: string | number | boolean | null | undefined | readonly string[]
}

/** An account as its platform shows it. */
export interface Profile {
  /** The id at the platform. It never changes, and identifies an account that is connected again. */
  readonly remoteId: string
  readonly name: string
  /** Without a leading @. */
  readonly handle: string | null
  readonly avatarUrl: string | null
  readonly url: string | null
  /** The kind of account, in the platform's terms: `page`, `organization`, `channel`, `business`. */
  readonly kind: string
}

/** Access to one account. */
export interface Grant {
  readonly profile: Profile
  readonly credential: Credential
  /** The scopes that the platform granted; null if it does not report them. */
  readonly scopes: readonly string[] | null
}

/** An account below a login: a page, an organization. */
export interface ChildAccount {
  readonly profile: Profile
  /** Null if the account is used with the credential of its login. */
  readonly credential: Credential | null
  /** Why it cannot be connected, such as a missing role; null when it can. */
  readonly blocked: string | null
}

/** A board, chat or channel to publish to within an account. */
export interface Place {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly url: string | null
  readonly privacy?: string
}

/** A board to create. */
export interface NewPlace {
  readonly name: string
  readonly description?: string
  readonly privacy?: string
}

/** The state of a sign-in that must survive until the callback. Stored encrypted, and used once. */
export type SignInSecrets = Readonly<Record<string, string>>

export interface AuthorizeRequest {
  /** Random, single-use. The platform returns it to the callback. */
  readonly state: string
  readonly redirectUri: string
  /** The PKCE verifier (RFC 7636). Platforms without PKCE ignore it. */
  readonly codeVerifier: string
  /** The user's handle or server, for platforms of many servers. */
  readonly server?: string
}

export interface AuthorizeStart {
  readonly url: string
  /** The state in the URL, if it is not that of the request. It must be as random. */
  readonly state?: string
  /** Kept for `exchange`, in addition to the verifier. */
  readonly secrets: SignInSecrets
}

export interface CallbackRequest {
  readonly code: string
  readonly redirectUri: string
  readonly codeVerifier: string
  readonly secrets: SignInSecrets
  /** All parameters of the callback, for platforms that add some (`iss`). */
  readonly params: Readonly<Record<string, string>>
}

/** What a callback says, by the names of OAuth 2.0 (RFC 6749, 4.1.2). */
export interface CallbackOutcome {
  /** What `exchange` gets as the code. */
  readonly code?: string
  /** `access_denied` if the user did not allow it. */
  readonly error?: string
  readonly error_description?: string
}

/** The current capabilities of the account, as the platform reports them. */
export interface LiveCapabilities {
  /** Values that replace those of the rules for this account, by rule id. */
  readonly limits: Readonly<Record<string, number>>
  /**
   * The reasons for missing capabilities, by capability. The rule engine refuses posts that need `publish` (all posts),
   * `text` (posts without media), `image`, `gif`, `video`, `document`, `thread`, `comment`, `link` or
   * `poll`. Other names are only shown.
   */
  readonly blocked: Readonly<Record<string, string>>
  /** What the account can choose of an option, by the name of the option: its boards, subreddits or categories. */
  readonly choices?: Readonly<Record<string, readonly Choice[]>>
  /** The platform's own reply, for callers that know its format (privacy options, maximum duration). */
  readonly details: Readonly<Record<string, unknown>>
  /** Not part of a reply. Crier adds it. */
  readonly learned?: LearnedLimit
}

/** Why a platform refuses a content, or what it leaves out of it. */
export interface ContentRefusal {
  /** JSON Pointer (RFC 6901) into the `PostContent`. */
  readonly pointer: string
  readonly message: string
  /** What the user can do. */
  readonly fix: string
  /** `warning`: the platform takes the content, and the message says what it does with it. `error` when absent. */
  readonly severity?: 'error' | 'warning'
}

/** A value of an option, and what users call it. */
export interface Choice {
  readonly value: string
  readonly title: string
}

/** A limit that a platform does not state, learned from the refusal of a file. */
export interface LearnedLimit {
  /** The size of the largest file that the account can upload, as far as is known. */
  readonly mostBytes: number
  /** When the file was refused, ISO 8601. */
  readonly at: string
}

/** What the platform charges the app for a call. */
export interface Price {
  /** `post_with_link` replaces `post` for a part with a URL in its text. */
  readonly per: 'post' | 'post_with_link' | 'read'
  readonly amount: number
  /** ISO 4217. */
  readonly currency: string
  readonly source: string
  /** Year and month in which the source was read. */
  readonly seen: `${number}-${number}`
  readonly confidence: Confidence
}

/** What a user wants of a post, to be checked against what the creator can do. */
export interface CreatorWish {
  readonly privacyLevel?: string
  readonly durationSeconds?: number
  readonly allowComments?: boolean
  readonly allowDuet?: boolean
  readonly allowStitch?: boolean
}

/** Something that the creator cannot do. */
export interface CreatorProblem {
  /** The field of the wish. */
  readonly field: string
  readonly message: string
}

/** An app that was registered at one server of a platform. */
export interface RegisteredApp {
  readonly clientId: string
  readonly clientSecret: string
}

/** The apps of a platform whose servers each have their own. Kept encrypted in the database. */
export interface AppRegistrations {
  find(server: string, redirectUri: string): Promise<RegisteredApp | undefined>
  /** Stores an app. @returns the stored one, which is another if two nodes registered at the same time */
  add(server: string, redirectUri: string, app: RegisteredApp): Promise<RegisteredApp>
}

/** A key pair with which this server authenticates at a platform (`private_key_jwt`, OpenID Connect Core, 9). */
export interface ClientKey {
  readonly id: string
  /** The private key (RFC 7517): P-256, for ES256. */
  readonly jwk: Readonly<Record<string, string>>
}

/** The keys for one platform. Kept encrypted in the database. */
export interface ClientKeys {
  /** The key for new grants first, then the next one, and older ones that grants are bound to. There is at least one. */
  list(): Promise<readonly ClientKey[]>
}

/** The arguments of a platform's functions. */
export interface PlatformContext {
  readonly settings: PlatformSettings
  /** The address of this server, without a trailing slash. */
  readonly publicUrl: string
  readonly keys: ClientKeys
  readonly apps: AppRegistrations
  readonly http: PlatformHttp
  readonly clock: Clock
  readonly signal?: AbortSignal
}

/** A call for one account. */
export interface AccountContext extends PlatformContext {
  readonly credential: Credential
  readonly remoteId: string
}

/** How a refresh token behaves, which decides what happens when the reply to a refresh is lost. */
export type RefreshStyle =
  /** Each refresh token works once. A repeated one fails, or revokes everything. */
  | 'single_use'
  /** The refresh token stays the same. Repeating is harmless. */
  | 'reusable'
  /** The access token itself is exchanged for a longer one. Repeating is harmless. */
  | 'exchange'
  /** The token does not expire. */
  | 'none'

export interface OAuthSupport {
  readonly scopes: readonly string[]
  /** What the user cannot do without a scope. */
  readonly scopePurposes: Readonly<Record<string, string>>
  readonly pkce: boolean
  readonly refreshStyle: RefreshStyle
  /** Whether each server has its own app, so that the operator registers none. */
  readonly dynamicApp?: boolean
  /** The callback, for a platform that has its own. The one of all platforms when absent. @throws PlatformError */
  readonly redirectUri?: (publicUrl: string) => string
  /** What a callback says, for a platform whose parameters have other names than those of OAuth 2.0. */
  readonly callback?: (params: Readonly<Record<string, string>>) => CallbackOutcome
  readonly authorize: (context: PlatformContext, request: AuthorizeRequest) => Promise<AuthorizeStart>
  /** @throws PlatformError */
  readonly exchange: (context: PlatformContext, request: CallbackRequest) => Promise<Grant>
  /**
   * New tokens. A refresh token that the platform does not return again is left out, and the old one is kept.
   * @throws PlatformError auth_expired when the platform has revoked the grant
   */
  readonly refresh?: (context: AccountContext) => Promise<Credential>
}

export interface CredentialSupport<S extends TSchema = TSchema> {
  /** The fields that connectAccount takes under `credentials`. Fields with `secret: true` are never shown. */
  readonly fields: S
  readonly help: string
  /** Checks the credential live. @throws PlatformError */
  connect(this: void, context: PlatformContext, fields: Static<S>): Promise<Grant>
}

/** One of the networks. Everything that only one network has is behind this interface, in its folder. */
export interface Platform {
  /** The name in URLs and bodies. */
  readonly key: string
  readonly title: string
  /** For the operator: where to register an app; undefined where none is needed. */
  readonly registration?: { readonly url: string; readonly hint: string }
  readonly defaults: Pick<PlatformSettings, 'apiUrl' | 'authUrl'>
  /** Further servers, by the name in `PlatformSettings.servers`. */
  readonly servers?: Readonly<Record<string, PlatformServer>>
  readonly oauth?: OAuthSupport
  readonly credentials?: CredentialSupport
  /** Public JSON documents that describe this server to the platform, by the path at which it serves them. */
  readonly documents?: Readonly<Record<string, (context: PlatformContext) => Promise<object>>>
  readonly rules: readonly Rule[]
  /** What the platform charges. Absent where it is free. */
  readonly prices?: readonly Price[]
  readonly reader: ReplyReader
  /** @throws PlatformError */
  readonly profile: (context: AccountContext) => Promise<Profile>
  /** Ends the grant at the platform. A grant that the platform does not know counts as revoked. @throws PlatformError */
  readonly revoke?: (context: AccountContext) => Promise<void>
  /** Where users remove the grant themselves, at a platform that documents no way to revoke it. */
  readonly grantsUrl?: string
  /** How a user ends the access, if the user entered a credential of their own, such as the token of a bot. */
  readonly grantAdvice?: string
  capabilities?(context: AccountContext): Promise<LiveCapabilities>
  /** What the creator cannot do, of the things that a post would need. */
  readonly creatorProblems?: (info: LiveCapabilities, wish: CreatorWish) => readonly CreatorProblem[]
  /** How long an answer of `capabilities` can be used, in milliseconds. Ten minutes when absent. */
  readonly capabilitiesLifeMs?: number
  /** Pages or organizations that a login manages. */
  readonly children?: (context: AccountContext) => Promise<readonly ChildAccount[]>
  /** How it publishes. */
  readonly publishing?: Publishing
  /** What it reports of accounts and posts. */
  readonly analytics: Analytics
  /** The options of a post that only this platform has: a schema of `PostContent.options`. */
  readonly options?: TObject
  /** What the platform refuses or leaves out that is no limit, such as options that exclude each other. */
  readonly refusals?: (content: PostContent, limits: Limits) => readonly ContentRefusal[]
  /**
   * A text without the markup that these options name, because the platform counts what is left. Absent where there is no
   * markup.
   * @returns undefined if the platform could not read the markup
   */
  readonly plainText?: (text: string, options: PostContent['options']) => string | undefined
  /**
   * Parts of a text with markup, by the offsets of `plainText`. Each is a text with the same markup.
   * @returns undefined if the text cannot be split there
   */
  readonly partsOf?: (
    text: string,
    options: PostContent['options'],
    parts: readonly TextPart[],
  ) => readonly string[] | undefined
  /** Boards, chats and channels. */
  readonly places?: (context: AccountContext) => Promise<readonly Place[]>
  /** Creates a board. @throws PlatformError validation */
  readonly createPlace?: (context: AccountContext, place: NewPlace) => Promise<Place>
}

/** Keeps the types of the fields of a credential. */
export function platform<const P extends Platform>(declaration: P): P {
  return declaration
}
