import type { PostContent } from '../content.ts'
import type { ContentRefusal } from '../platform.ts'

/** What a site refuses of the options (developer.wordpress.org/rest-api/reference, 2026-11; read in WordPress 6.1). */
export function refusals(content: PostContent): readonly ContentRefusal[] {
  const { firstComment = '', link = '', media, options, text, title = '' } = content
  const { comment_status: comments, excerpt, featured_image: featured, status } = options
  const found: ContentRefusal[] = []
  if (firstComment !== '' && (status === 'draft' || status === 'pending')) {
    const message = `A post that is stored as ${status} takes no comments.`
    found.push({ pointer: '/firstComment', message, fix: 'Remove the first comment.' })
  } else if (firstComment !== '' && comments === 'closed') {
    const message = 'With `comment_status` closed, the post takes no comments.'
    found.push({ pointer: '/firstComment', message, fix: 'Remove the first comment, or open the comments.' })
  }
  const isWithoutText = [text, title, link, typeof excerpt === 'string' ? excerpt : ''].every(
    (one) => one.trim() === '',
  )
  const [first, ...others] = media
  if (isWithoutText && featured === 'only' && first?.kind === 'image' && others.length === 0) {
    const message = 'The post is empty, because its only image is the featured image.'
    found.push({ pointer: '/options/featured_image', message, fix: 'Write a text, or choose `first`.' })
  }
  return found
}
