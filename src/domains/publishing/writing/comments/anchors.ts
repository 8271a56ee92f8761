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
  const { asset = null, textRange = null } = input
  if ((asset === null) === (textRange === null)) refuse('', 'either', 'must have either `asset` or `textRange`')
  if (asset !== null) {
    if (!assetIds.includes(asset.assetId)) refuse('/asset/assetId', 'unknown', 'must be the id of an asset of the post')
    if (asset.width === 0 || asset.height === 0 || asset.left + asset.width > 1 || asset.top + asset.height > 1) {
      refuse('/asset', 'outside', 'must be a rectangle within the picture: left + width and top + height are at most 1')
    }
    return { asset, textRange: null }
  }
  const { length, offset, part } = textRange!
  const words = part === 0 ? body.content : body.thread?.[part - 1]?.content
  if (words === undefined) refuse('/textRange/part', 'unknown', 'must be 0 or the number of a part of the thread')
  if (offset + length > words.length) {
    refuse('/textRange/length', 'outside', `must end within the text, which has ${words.length} characters`)
  }
  const quotedText = words.slice(offset, offset + Math.min(length, QUOTE_LENGTH)).toWellFormed()
  return { asset: null, textRange: { part, offset, length, quotedText } }
}

function refuse(path: string, code: string, message: string): never {
  throw ValidationFailed({ errors: [{ path: `/body/anchor${path}`, code, message }] })
}
