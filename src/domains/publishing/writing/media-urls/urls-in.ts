import type { NewPostInput } from '../../posts/index.ts'

type MediaItem = NonNullable<NewPostInput['media']>[number]
/** A file that a request names by its address. */
export type MediaByUrl = Exclude<MediaItem, string> & { readonly url: string }

/** The parts of a request that have files. */
export type WithMedia = Pick<NewPostInput, 'media' | 'thread'> & {
  readonly targets?: readonly { readonly override?: Pick<NewPostInput, 'media' | 'thread'> | null }[]
}

export function isByUrl(item: unknown): item is MediaByUrl {
  return typeof item === 'object' && item !== null && 'url' in item && !('assetId' in item)
}

/** The addresses of files in a post, in its thread and in what its accounts publish differently. */
export function urlsIn(post: WithMedia): string[] {
  const contents = [post, ...(post.targets ?? []).flatMap(({ override }) => override ?? [])]
  return contents.flatMap(({ media = [], thread = [] }) =>
    [...media, ...thread.flatMap((part) => part.media ?? [])].flatMap((item) => (isByUrl(item) ? item.url : [])),
  )
}

/** The post with assets in place of addresses. @param assetOf the id of the asset of an address, if it was added */
export function withAssets<T extends WithMedia>(post: T, assetOf: (url: string) => string | undefined): T {
  const media = (items: readonly MediaItem[]): MediaItem[] =>
    items.map((item) => {
      if (!isByUrl(item)) return item
      const { url, ...rest } = item
      const assetId = assetOf(url)
      return assetId === undefined ? item : { ...rest, assetId }
    })
  const content = <C extends Pick<NewPostInput, 'media' | 'thread'>>(one: C): C => ({
    ...one,
    ...(one.media !== undefined && { media: media(one.media) }),
    ...(one.thread !== undefined && {
      thread: one.thread.map((part) => (part.media === undefined ? part : { ...part, media: media(part.media) })),
    }),
  })
  if (urlsIn(post).length === 0) return post
  const { targets } = post
  return {
    ...content(post),
    ...(targets !== undefined && {
      targets: targets.map((target) =>
        target.override == null ? target : { ...target, override: content(target.override) },
      ),
    }),
  }
}
