import { Id, named, Nullable, OneOf, Type, type Static } from '../../../core/schema.ts'
import type { PostContent } from '../../../platforms/content.ts'
import type { Platform } from '../../../platforms/platform.ts'
import { fixesOf, type Fix } from '../../../platforms/rules/fixes.ts'
import type { Limits } from '../../../platforms/rules/limits.ts'
import type { Problem } from '../../../platforms/rules/problem.ts'

export const PostFix = named(
  'PostFix',
  Type.Object({
    kind: OneOf(['rendition', 'split', 'text'] as const, {
      description:
        '`rendition`: replace a file by a rendition of it. `split`: replace a text by several parts of a thread. `text`: replace a text',
    }),
    rule: Type.String({ description: 'The rule that the post then satisfies' }),
    path: Type.String({ description: 'JSON pointer to what is replaced, in the content of the target' }),
    label: Type.String({ description: 'What the fix does, for people' }),
    assetId: Nullable({ ...Id, description: 'The file of a rendition' }),
    settings: Nullable(
      Type.Record(Type.String(), Type.Unknown(), { description: 'The body of POST /api/assets/{id}/renditions' }),
    ),
    parts: Nullable(
      Type.Array(Type.String(), { description: 'The text, and those of the parts of the thread after it' }),
    ),
    text: Nullable(Type.String({ description: 'The new text' })),
  }),
)
type PostFixData = Static<typeof PostFix>

/** The changes that remove problems of a post without the user. */
export function fixViews(
  platform: Platform,
  limits: Limits,
  content: PostContent,
  problems: readonly Problem[],
): PostFixData[] {
  const views = problems.flatMap((problem) =>
    fixesOf(platform, limits, content, problem).map((fix) => fixView(fix, problem.rule)),
  )
  // A rendition satisfies all rules of its file.
  return views.filter((view, index) => views.findIndex(({ path }) => path === view.path) === index)
}

function fixView(fix: Fix, rule: string): PostFixData {
  const { kind, label, pointer: path } = fix
  return {
    kind,
    rule,
    path,
    label,
    assetId: fix.kind === 'rendition' ? fix.mediaId : null,
    settings: fix.kind === 'rendition' ? { ...fix.settings } : null,
    parts: fix.kind === 'split' ? [...fix.parts] : null,
    text: fix.kind === 'text' ? fix.text : null,
  }
}
