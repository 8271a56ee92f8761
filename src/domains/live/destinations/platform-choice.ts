import type { DestinationRules } from '../../../../media/types.ts'
import { LIVE_PLATFORM_NAMES, livePlatform, type LivePlatform, type LivePlatformName } from './live-platforms.ts'
import type { PlatformCapsData } from './schemas.ts'

/** An error in the input of a destination: the field, a stable code, and a message that says what to do. */
export interface ChoiceFault {
  readonly field: 'url' | 'streamKey'
  readonly code: string
  readonly message: string
}

export interface DestinationChoice {
  readonly platform?: LivePlatformName
  readonly url?: string
  readonly streamKey: string
}

/** The URL of a destination, or the error in it. The address of the URL is checked separately. */
export function placeOf(choice: DestinationChoice): { readonly url: string } | ChoiceFault {
  const platform = choice.platform === undefined ? undefined : livePlatform(choice.platform)
  const url = choice.url ?? platform?.ingestUrl?.value
  if (url === undefined) {
    const message = platform
      ? `${platform.label} gives a server URL for each broadcast: enter it as url. ${platform.keyHelp}`
      : 'The destination needs a url, or a platform that has a fixed one.'
    return { field: 'url', code: 'required', message }
  }
  return (platform && choice.url !== undefined ? urlFault(platform, choice.url) : undefined) ?? { url }
}

function urlFault({ hosts, label, tlsOnly }: LivePlatform, url: string): ChoiceFault | undefined {
  const parsed = URL.parse(url)
  // The check of addresses reports invalid URLs.
  if (parsed === null) return undefined
  if (tlsOnly && parsed.protocol === 'rtmp:') {
    return { field: 'url', code: 'tls_only', message: `${label} accepts only RTMPS: the URL must begin with rtmps://.` }
  }
  const host = parsed.hostname.toLowerCase()
  if (hosts === null || hosts.some((known) => host === known || host.endsWith(`.${known}`))) return undefined
  const message = `This is not a server of ${label}. Omit the platform to stream to your own server.`
  return { field: 'url', code: 'foreign_host', message }
}

/**
 * The error in a key that cannot be valid: a whole URL, the key of another platform, or some other text. The message
 * never quotes the key. Undefined when the key can be valid.
 */
export function keyFault({ platform: name, streamKey }: DestinationChoice): ChoiceFault | undefined {
  const platform = name === undefined ? undefined : livePlatform(name)
  const where = platform ? ` ${platform.keyHelp}` : ''
  const fault = (code: string, message: string): ChoiceFault => ({
    field: 'streamKey',
    code,
    message: `${message}${where}`,
  })
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(streamKey)) {
    return /^rtmps?:/i.test(streamKey)
      ? fault('key_is_url', 'This is a whole URL: the key is only what comes after its last slash.')
      : fault('key_is_url', 'This is the address of a web page, not a stream key.')
  }
  if (/^[^@\s]+@[^@\s]+\.[a-z]{2,}$/i.test(streamKey)) {
    return fault('key_is_email', 'This is an email address, not a stream key.')
  }
  if (platform === undefined || platform.keyForm === null || platform.keyForm.test(streamKey)) return undefined
  const owner = LIVE_PLATFORM_NAMES.map(livePlatform).find((other) => other.keyForm?.test(streamKey))
  return owner
    ? fault('key_of_other_platform', `This looks like a key of ${owner.label}, not of ${platform.label}.`)
    : fault('key_form', `This does not look like a stream key of ${platform.label}.`)
}

/** The limits of a platform, with the source of each figure. */
export function capsOf(name: LivePlatformName): PlatformCapsData {
  const { audioCodecs, keyframeInterval, maxBitrate, maxHours, maxKeyframeInterval, videoCodecs } = livePlatform(name)
  return {
    platform: name,
    videoCodecs: { ...videoCodecs, value: [...videoCodecs.value] },
    audioCodecs: { ...audioCodecs, value: [...audioCodecs.value] },
    maxBitrate,
    keyframeIntervalSeconds: keyframeInterval,
    maxKeyframeIntervalSeconds: maxKeyframeInterval,
    maxHours,
  }
}

/** The limits of a platform that the relay and its checks need. */
export function rulesOf(name: LivePlatformName): DestinationRules {
  const { audioCodecs, label, maxBitrate, maxKeyframeInterval, videoCodecs } = livePlatform(name)
  return {
    name: label,
    videoCodecs: videoCodecs.value,
    audioCodecs: audioCodecs.value,
    maxBitrate: maxBitrate?.value ?? null,
    maxKeyframeIntervalSeconds: maxKeyframeInterval.value,
  }
}
