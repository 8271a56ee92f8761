import type { DestinationRules } from '../types.ts'

/** Whether a codec is not in a list of accepted ones. False when either is unknown. */
export function isUnsupported(codec: string | null, accepted: readonly string[] | null): boolean {
  return codec !== null && accepted !== null && !accepted.includes(codec)
}

interface Codecs {
  readonly videoCodec: string | null
  readonly audioCodec: string | null
}

/** Explains why a destination does not accept these codecs; null when it accepts them. */
export function codecRefusal({ audioCodecs, name, videoCodecs }: DestinationRules, codecs: Codecs): string | null {
  const { audioCodec, videoCodec } = codecs
  if (isUnsupported(videoCodec, videoCodecs)) return refusalText(name, videoCodec, 'video', videoCodecs)
  return isUnsupported(audioCodec, audioCodecs) ? refusalText(name, audioCodec, 'audio', audioCodecs) : null
}

/** Names the codec that a destination does not accept, and those that it accepts. */
export function refusalText(
  name: string,
  codec: string | null,
  kind: 'audio' | 'video',
  accepted: readonly string[] | null,
): string {
  return `${name} does not accept ${codec} ${kind}. It accepts ${accepted?.join(', ')}.`
}
