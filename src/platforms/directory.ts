import type { Clock } from '../core/clock.ts'
import { dropOldest } from '../tools/drop-oldest.ts'
import { NotFound } from '../core/errors.ts'
import type { Outgoing } from '../fetch/outgoing.ts'
import { PlatformError } from './error-kinds.ts'
import { CircuitBreaker } from './http/circuit-breaker.ts'
import { PlatformHttp, type BudgetReport, type LoggedCall } from './http/platform-http.ts'
import type {
  AppRegistrations,
  ClientKeys,
  LiveCapabilities,
  Platform,
  PlatformContext,
  PlatformSettings,
} from './platform.ts'
import { findPlatform, PLATFORMS } from './registry.ts'
import { currentLearned, effectiveLimits, type Limits, type PlatformOverrides } from './rules/limits.ts'

/** A platform with its configuration on this server. */
export interface ConfiguredPlatform {
  readonly platform: Platform
  readonly settings: PlatformSettings
  /** Whether accounts can be connected. False while the operator has not registered an app. */
  readonly configured: boolean
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Takes the log of each call: `CallRecorder.add` for an attempt. */
  readonly onCall?: (call: LoggedCall) => void
  readonly onBudget?: (report: BudgetReport) => void
  /** Called directly before each request is sent. If it throws, the request is not sent; see `OutgoingRequest.guard`. */
  readonly guard?: () => void
}

/** What limits an account beside the rules of its platform. */
type AccountLimits = Pick<LiveCapabilities, 'limits' | 'blocked' | 'choices' | 'learned'>

interface DirectoryOptions {
  readonly settings: Readonly<Record<string, PlatformSettings>>
  readonly clock: Clock
  readonly outgoing: Outgoing
  /** The registered apps of one platform. */
  readonly apps: (platform: string) => AppRegistrations
  /** The limits of the operator, by platform. */
  readonly overrides?: (platform: string) => PlatformOverrides
  /** The keys for one platform. */
  readonly keys: (platform: string) => ClientKeys
  /** The address of this server, without a trailing slash. */
  readonly publicUrl: string
  /** Takes the log of every call to every platform. */
  readonly onCall?: (platform: string, call: LoggedCall) => void
}

/** How many different limits are remembered. */
const MAX_LIMITS = 1_000

/** The platforms with the settings of this server, and the clients to call them. */
export class PlatformDirectory {
  readonly #options: DirectoryOptions
  readonly #breaker: CircuitBreaker
  readonly #entries: readonly ConfiguredPlatform[]
  /** Limits by platform or capabilities, with the operator's limits that they were made of. */
  readonly #limits = new WeakMap<
    object,
    { readonly overrides: PlatformOverrides | undefined; readonly limits: Limits }
  >()

  readonly #byContent = new Map<
    string,
    { readonly overrides: PlatformOverrides | undefined; readonly byId: Limits['byId'] }
  >()

  constructor(options: DirectoryOptions) {
    this.#options = options
    this.#breaker = new CircuitBreaker(options.clock)
    this.#entries = PLATFORMS.map((platform) => {
      const settings: PlatformSettings = options.settings[platform.key] ?? platform.defaults
      return { platform, settings, configured: platform.registration === undefined || settings.clientId !== undefined }
    })
  }

  all(): readonly ConfiguredPlatform[] {
    return this.#entries
  }

  find(key: string): ConfiguredPlatform | undefined {
    const platform = findPlatform(key)
    return this.#entries.find((entry) => entry.platform === platform)
  }

  /** @throws AppError not_found */
  require(key: string): ConfiguredPlatform {
    const entry = this.find(key)
    if (entry !== undefined) return entry
    throw NotFound({ message: `There is no platform “${key}”. GET /api/platforms lists them.` })
  }

  /** The limits of a platform on this server, or of one account with its live capabilities. */
  limits({ platform }: Pick<ConfiguredPlatform, 'platform'>, live?: AccountLimits): Limits {
    const overrides = this.#options.overrides?.(platform.key)
    const { clock } = this.#options
    if (live?.learned !== undefined && currentLearned(live, clock.now()) === undefined) {
      const { learned: _, ...current } = live
      return { byId: this.#limitsById(platform, overrides, current), ...ownOf(live) }
    }
    const owner = live ?? platform
    const known = this.#limits.get(owner)
    if (known !== undefined && known.overrides === overrides) return known.limits
    const limits = { byId: this.#limitsById(platform, overrides, live), ...ownOf(live) }
    this.#limits.set(owner, { overrides, limits })
    return limits
  }

  /** Most accounts of a platform have the same limits, so they share them. */
  #limitsById(
    platform: Platform,
    overrides: PlatformOverrides | undefined,
    live: AccountLimits | undefined,
  ): Limits['byId'] {
    const key = `${platform.key} ${JSON.stringify([live?.limits ?? {}, live?.learned])}`
    const known = this.#byContent.get(key)
    if (known !== undefined && known.overrides === overrides) return known.byId
    const { byId } = effectiveLimits(platform, overrides, live && { ...live, blocked: {} })
    this.#byContent.set(key, { overrides, byId })
    dropOldest(this.#byContent, MAX_LIMITS)
    return byId
  }

  /** The address to which a platform sends the browser back. @throws PlatformError */
  redirectUri({ key, oauth }: Platform): string {
    const { publicUrl } = this.#options
    return oauth?.redirectUri?.(publicUrl) ?? `${publicUrl}/api/social-accounts/oauth/${key}/callback`
  }

  /** The key of the platform whose callback has this path. */
  ofCallback(path: string): string | undefined {
    const found = this.#entries.find(({ platform: { oauth } }) => {
      try {
        return URL.parse(oauth?.redirectUri?.(this.#options.publicUrl) ?? '')?.pathname === path
      } catch (error) {
        if (error instanceof PlatformError) return false
        throw error
      }
    })
    return found?.platform.key
  }

  /** A public document of a platform, by its path. @throws AppError not_found */
  async document(path: string): Promise<object> {
    const entry = this.#entries.find(({ platform: { documents = {} } }) => path in documents)
    const make = entry?.platform.documents?.[path]
    if (entry === undefined || make === undefined) throw NotFound()
    return make(this.context(entry))
  }

  /** The arguments for the functions of a platform. */
  context(
    { platform, settings }: ConfiguredPlatform,
    { guard, onBudget, onCall, signal }: CallOptions = {},
  ): PlatformContext {
    const { apps, clock, keys, onCall: onEveryCall, outgoing, publicUrl } = this.#options
    const http = new PlatformHttp({
      platform,
      clock,
      outgoing,
      breaker: this.#breaker,
      reader: platform.reader,
      onCall: (call) => {
        onEveryCall?.(platform.key, call)
        onCall?.(call)
      },
      ...(onBudget && { onBudget }),
      ...(guard && { guard }),
    })
    return {
      settings,
      http,
      clock,
      publicUrl,
      apps: apps(platform.key),
      keys: keys(platform.key),
      ...(signal && { signal }),
    }
  }
}

/** What accounts with the same limits do not share. */
function ownOf(live: AccountLimits | undefined): Pick<Limits, 'blocked' | 'choices'> {
  return { blocked: live?.blocked ?? {}, choices: live?.choices ?? {} }
}
