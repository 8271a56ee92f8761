import { inBandParameterSets } from '../rtmp/avc-record.ts'
import { codedBody } from '../rtmp/coded-body.ts'
import { avcPictureSize } from '../rtmp/sps.ts'

type Kind = 'video' | 'audio'

/**
 * The parameter sets that stand in front of a slate's keyframes in the publisher's file.
 * @param slate bodies of the slate's configurations, where they differ from the publisher's
 * @param publisher its configurations, by kind
 * @returns undefined when the slate cannot continue the file: the publisher sends no H.264, or the pictures have another
 *   size, or silence cannot be written as the publisher's sound is
 */
export function slateParameterSets(
  slate: Partial<Record<Kind, Buffer>>,
  publisher: Partial<Record<Kind, { readonly codec: string | null; readonly payload: Buffer }>>,
): Buffer | undefined {
  const { audio, video } = publisher
  if (video?.codec !== 'h264') return undefined
  if (slate.audio !== undefined && audio !== undefined && !slate.audio.equals(audio.payload)) return undefined
  const [ours, theirs] = [slate.video ?? video.payload, video.payload].map((body) => codedBody('video', body).data)
  const [size, before] = [avcPictureSize(ours!), avcPictureSize(theirs!)]
  const isSameSize = size !== null && size.width === before?.width && size.height === before.height
  return isSameSize ? inBandParameterSets(ours!) : undefined
}
