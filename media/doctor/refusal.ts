import type { DestinationRules } from '../types.ts'

/** Whether a codec is known and not among those taken. */
export function isForeign(codec: string | null, taken: readonly string[] | null): boolean {
  return codec !== null && taken !== null && !taken.includes(codec)
}

interface Codecs {
  readonly videoCodec: string | null
  readonly audioCodec: string | null
}

/** Why a destination must not get these codecs, in words; null when it may. */
export function refusalOf({ audioCodecs, name, videoCodecs }: DestinationRules, codecs: Codecs): string | null {
  const { audioCodec, videoCodec } = codecs
  if (isForeign(videoCodec, videoCodecs)) return refusal(name, videoCodec, 'video', videoCodecs)
  return isForeign(audioCodec, audioCodecs) ? refusal(name, audioCodec, 'audio', audioCodecs) : null
}

function refusal(name: string, codec: string | null, kind: string, taken: readonly string[] | null): string {
  return `${name} does not take ${codec} ${kind}; it takes ${taken?.join(', ')}.`
}
