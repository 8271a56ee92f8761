import { ValidationFailed } from '../../../../core/errors.ts'
import type { PostRow } from '../../posts/index.ts'
import type { AnchorInputData, CommentAnchorData } from './schemas.ts'

const QUOTE_LENGTH = 200

/**
 * Checks what a comment is about against the post, and remembers the words.
 * @throws AppError validation_failed
 */
export function anchorOf(
  { assetIds, body }: PostRow,
  input: AnchorInputData | null | undefined,
): CommentAnchorData | null {
  if (input == null) return null
  const { asset, text } = input
  if ((asset === undefined) === (text === undefined)) refuse('', 'either', 'must have either `asset` or `text`')
  if (asset !== undefined) {
    if (!assetIds.includes(asset.assetId)) refuse('/asset/assetId', 'unknown', 'must be the id of an asset of the post')
    if (asset.width === 0 || asset.height === 0 || asset.x + asset.width > 1 || asset.y + asset.height > 1) {
      refuse('/asset', 'outside', 'must be a rectangle within the picture: x + width and y + height are at most 1')
    }
    return { asset, text: null }
  }
  const { end, part, start } = text!
  const words = part === 0 ? body.content : body.thread?.[part - 1]?.content
  if (words === undefined) refuse('/text/part', 'unknown', 'must be 0 or the number of a part of the thread')
  if (start >= end || end > words.length) {
    refuse('/text/end', 'outside', `must be after \`start\`, and at most the length of the text, ${words.length}`)
  }
  return {
    asset: null,
    text: { part, start, end, quote: words.slice(start, end).slice(0, QUOTE_LENGTH).toWellFormed() },
  }
}

function refuse(path: string, code: string, message: string): never {
  throw ValidationFailed({ errors: [{ path: `/body/anchor${path}`, code, message }] })
}
