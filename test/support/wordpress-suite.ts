import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { wordpress } from '../../src/platforms/wordpress/index.ts'
import type { PublishContext, Publishing, PublishPart, RemotePost } from '../../src/platforms/publishing.ts'
import { partOf, type FakePlatform } from './fake-platform.ts'
import { PIXEL } from './pixel.ts'
import type { StoredComment, StoredFile, StoredPost } from './wordpress.ts'

/** One side of the comparison: the fake, or a real site. */
export interface WordPressSide {
  readonly peer: FakePlatform
  /** A new user whose role is the first word of the name (`author_ada`), connected by an application password. */
  account(login: string): Promise<PublishContext>
  /** Loses the reply to the next POST of this route, after the site has handled it. */
  cut(route: string): void
  posts(): Promise<readonly Omit<StoredPost, 'rendered'>[]>
  media(): Promise<readonly StoredFile[]>
  comments(): Promise<readonly StoredComment[]>
  /** Deletes the application passwords of a user at the site. */
  revoke(login: string): Promise<void>
  stop(): Promise<void>
}

const publishing: Publishing = wordpress.publishing
let count = 0

/** The same tests for the fake and for a real site, so that the fake does what WordPress does. */
export function wordpressSuite(name: string, start: () => Promise<WordPressSide>): void {
  describe(`WordPress: ${name}`, () => {
    let side: WordPressSide
    let peer: FakePlatform
    let author: PublishContext
    let editor: PublishContext

    beforeAll(async () => {
      side = await start()
      peer = side.peer
      author = await side.account('author_ada')
      editor = await side.account('editor_eve')
    })
    afterAll(() => side?.stop())

    /** A part with its own key. */
    const part = (text: string, more: Partial<PublishPart> = {}) => {
      count += 1
      const key = `019a0000-0000-7000-8000-${String(count).padStart(12, '0')}`
      return partOf(text, { key, createdAt: peer.clock.now(), ...more })
    }
    const image = (altText?: string) =>
      peer.file({ kind: 'image', type: 'image/png', ...(altText !== undefined && { altText }) }, Buffer.from(PIXEL))
    const stored = async ({ id }: RemotePost) => (await side.posts()).find((post) => post.id === Number(id))
    const titled = async (title: string) => (await side.posts()).filter((post) => post.title === title)

    test('the profile names the user and the site, and the role decides what is blocked', async () => {
      const profile = await wordpress.profile(author)
      const { host } = new URL(peer.running.url)
      expect(profile).toMatchObject({ remoteId: author.remoteId, handle: `author_ada@${host}`, kind: 'site' })
      expect(profile.remoteId).toMatch(new RegExp(String.raw`^${host}/\d+$`))
      expect(await wordpress.capabilities(author)).toMatchObject({
        blocked: {},
        details: { roles: ['author'], mayPublish: true, mayUpload: true },
      })
      const { blocked } = await wordpress.capabilities(await side.account('contributor_carl'))
      expect(Object.keys(blocked)).toEqual(['publish', 'image', 'gif', 'video', 'document'])
      expect(blocked['publish']).toContain('The role “contributor” may not publish posts.')
    })

    test('publishes a text as paragraphs that show exactly what was written', async () => {
      const text = 'Fish & <b>chips</b> "today" [gallery]\nsecond line\n\nSee https://example.com/a?b=1&c=2. \\o/'
      const post = await peer.publish(author, part(text, { title: 'Tom & <Jerry>' }))
      const found = await stored(post)
      expect(found).toMatchObject({ author: 'author_ada', status: 'publish', title: 'Tom &amp; &lt;Jerry&gt;' })
      expect(found?.content).toBe(
        '<!-- wp:paragraph -->\n<p>Fish &amp; &lt;b&gt;chips&lt;/b&gt; &quot;today&quot; &#091;gallery&#093;<br>second line</p>\n<!-- /wp:paragraph -->\n\n' +
          '<!-- wp:paragraph -->\n<p>See <a href="https://example.com/a?b=1&amp;c=2">https://example.com/a?b=1&amp;c=2</a>. \\o/</p>\n<!-- /wp:paragraph -->',
      )
      expect(found?.slug).toMatch(/^tom-jerry-[0-9a-z]{8}$/)
      expect(post.url).toBe(`${peer.running.url}/${found?.slug}/`)
    })

    test('a post without a title gets the beginning of its text, in every script', async () => {
      const cyrillic = part('Привет, мир и все')
      const post = await peer.publish(author, cyrillic)
      expect(await stored(post)).toMatchObject({ title: 'Привет, мир и все' })
      expect((await stored(post))?.slug).toMatch(/^привет-мир-и-все-[0-9a-z]{8}$/)
      const state = publishing.start(cyrillic, author)
      expect(await publishing.reconcile?.(author, cyrillic, state)).toEqual({ kind: 'published', post })
      const long = await peer.publish(author, part(`${'word '.repeat(20)}\nmore`))
      expect((await stored(long))?.title).toBe(`${'word '.repeat(12).trim()} …`)
      const aside = await peer.publish(author, part('No title here', { options: { format: 'aside' } }))
      expect(await stored(aside)).toMatchObject({ title: '', format: 'aside' })
    })

    test('publishes an image with its alt text and as the featured image', async () => {
      const post = await peer.publish(author, part('One image', { media: [image('A "red" pixel & more')] }))
      const found = await stored(post)
      const file = (await side.media()).find(({ id }) => id === found?.featured)
      expect(file).toMatchObject({ type: 'image/png', altText: 'A "red" pixel & more' })
      expect(found?.content).toContain(`class="wp-image-${file?.id}"`)
      expect(found?.content).toContain('alt="A &quot;red&quot; pixel &amp; more"')
    })

    test('publishes several images as a gallery, a video and a document', async () => {
      const video = peer.file({ kind: 'video', type: 'video/mp4', name: 'clip' }, MP4)
      const document = peer.file(
        { kind: 'document', type: 'application/pdf', name: 'a -- b.pdf' },
        Buffer.from('%PDF-1.4\n%%EOF\n'),
      )
      const media = [image('one'), video, image('two'), document]
      const post = await peer.publish(author, part('Everything', { media, options: { featured_image: 'none' } }))
      const found = await stored(post)
      expect(found?.featured).toBe(0)
      const order = [...(found?.content ?? '').matchAll(/<!-- wp:(\w+)/g)].map(([, kind]) => kind)
      expect(order).toEqual(['paragraph', 'gallery', 'image', 'image', 'video', 'file'])
      expect(found?.content).toMatch(/<video controls src="[^"]+\/clip\.mp4"><\/video>/)
      expect(found?.content).toContain('>a -- b.pdf</a>')
      const only = await peer.publish(author, part('Only', { media: [image()], options: { featured_image: 'only' } }))
      expect((await stored(only))?.content).not.toContain('wp:image')
      expect((await stored(only))?.featured).toBeGreaterThan(0)
    })

    test('sends tags, categories and the other options', async () => {
      const categories = await wordpress.places(editor)
      const [category] = categories
      expect(category).toMatchObject({ kind: 'category', id: expect.stringMatching(/^\d+$/) as string })
      const options = {
        status: 'private',
        categories: [category?.id],
        excerpt: 'Short & sweet',
        slug: 'My own words',
        comment_status: 'closed',
        sticky: true,
      }
      const tags = ['New tag', '#new tag', 'R&D']
      const post = await peer.publish(editor, part('With options', { tags, options }))
      expect(await stored(post)).toMatchObject({
        status: 'private',
        slug: expect.stringMatching(/^my-own-words-[0-9a-z]{8}$/) as string,
        excerpt: 'Short &amp; sweet',
        commentStatus: 'closed',
        sticky: true,
        tags: ['New tag', 'R&amp;D'],
        categories: [Number(category?.id)],
      })
      // Tags that exist are used again.
      const second = await peer.publish(author, part('Same tags', { tags: ['new TAG'] }))
      expect((await stored(second))?.tags).toEqual(['New tag'])
    })

    test('the same part published twice makes one post, as a draft too', async () => {
      for (const status of ['publish', 'draft']) {
        const again = part('Twice', { title: `Twice ${status}`, media: [image()], options: { status } })
        const files = (await side.media()).length
        const first = await peer.publish(author, again)
        expect(await peer.publish(author, again)).toEqual(first)
        expect(await titled(`Twice ${status}`)).toHaveLength(1)
        expect(await side.media()).toHaveLength(files + 1)
        expect(first.url === null).toBe(status === 'draft')
      }
    })

    test('two posts with the same title have different addresses', async () => {
      await peer.publish(author, part('One', { title: 'Same title' }))
      await peer.publish(author, part('Two', { title: 'Same title' }))
      const slugs = (await titled('Same title')).map(({ slug }) => slug)
      expect(new Set(slugs).size).toBe(2)
      expect(slugs.every((slug) => /^same-title-[0-9a-z]{8}$/.test(slug))).toBe(true)
    })

    test('a post whose reply was lost is found once, even in the trash', async () => {
      const lost = part('Lost reply', { title: 'Lost' })
      const state = await peer.prepare(author, lost)
      expect(await publishing.reconcile?.(author, lost, state)).toEqual({ kind: 'absent' })
      side.cut('/wp/v2/posts')
      await expect(peer.publish(author, lost, state)).rejects.toMatchObject({ kind: 'network', mayHaveHappened: true })
      const found = await publishing.reconcile?.(author, lost, state)
      const [only, ...others] = await titled('Lost')
      expect(others).toEqual([])
      expect(found).toMatchObject({ kind: 'published', post: { id: String(only?.id) } })
      await publishing.remove?.(author, { id: String(only?.id), url: null })
      expect(await publishing.reconcile?.(author, lost, state)).toMatchObject({
        post: { id: String(only?.id), url: null },
      })
      expect(await peer.publish(author, lost)).toMatchObject({ id: String(only?.id) })
    })

    test('a file whose reply was lost is not uploaded again', async () => {
      const lost = part('Lost upload', { media: [image('lost')] })
      const files = (await side.media()).length
      side.cut('/wp/v2/media')
      const first = await publishing.step(author, lost, publishing.start(lost, author))
      if (first.kind !== 'next') throw new Error('published too early')
      expect(first.state.step).toBe('upload')
      await expect(publishing.step(author, lost, first.state)).rejects.toMatchObject({ kind: 'network' })
      await peer.publish(author, lost, first.state)
      expect(await side.media()).toHaveLength(files + 1)
    })

    test('writes the first comment, once', async () => {
      const root = await peer.publish(author, part('Commented'))
      const comment = part("It's -- first & <best> “comment” :) https://example.com/", {
        role: 'comment',
        root,
        parent: root,
      })
      const state = await peer.prepare(author, comment)
      side.cut('/wp/v2/comments')
      await expect(peer.publish(author, comment, state)).rejects.toMatchObject({ kind: 'network' })
      const found = await publishing.reconcile?.(author, comment, state)
      expect(found).toMatchObject({ kind: 'published', post: { ids: { type: 'comment' } } })
      expect((await peer.publish(author, comment)).id).toBe((found as { post: RemotePost }).post.id)
      const ofPost = (await side.comments()).filter(({ post }) => post === Number(root.id))
      expect(ofPost).toMatchObject([{ content: "It's -- first &amp; &lt;best&gt; “comment” :) https://example.com/" }])
      expect(await publishing.insights?.(author, root)).toEqual({ comments: 1 })
      await expect(publishing.step(author, comment, state)).rejects.toMatchObject({ kind: 'duplicate_content' })
      const post = (found as { post: RemotePost }).post
      await publishing.edit?.(author, post, part('Better comment'))
      expect((await side.comments()).find(({ id }) => id === Number(post.id))?.content).toBe('Better comment')
      await publishing.remove?.(author, post)
      await publishing.remove?.(author, post)
      expect((await side.comments()).some(({ id }) => id === Number(post.id))).toBe(false)
    })

    test('refuses comments where they are closed, and threads', async () => {
      const root = await peer.publish(author, part('Closed', { options: { comment_status: 'closed' } }))
      const comment = part('Comment', { role: 'comment', root, parent: root })
      await expect(peer.publish(author, comment)).rejects.toMatchObject({
        kind: 'unsupported',
        code: 'rest_comment_closed',
      })
      expect(() => publishing.start(part('Part two', { role: 'reply', root, parent: root }), author)).toThrow(
        expect.objectContaining({ kind: 'unsupported' }) as Error,
      )
    })

    test('edits the text and keeps the files and the address', async () => {
      const media = [image('kept one'), image('kept two')]
      const post = await peer.publish(author, part('A tyop', { media }))
      const before = await stored(post)
      expect(await publishing.edit?.(author, post, part('No typo', { media }))).toEqual(post)
      const after = await stored(post)
      expect(after).toMatchObject({ title: 'No typo', slug: before?.slug, featured: before?.featured })
      expect(after?.content.match(/<!-- wp:image /g)).toHaveLength(2)
      expect(after?.content).toContain('<p>No typo</p>')
      expect(after?.content).not.toContain('tyop')
      const named = await peer.publish(author, part('Text', { title: 'A title' }))
      await publishing.edit?.(author, named, part('New text'))
      expect(await stored(named)).toMatchObject({ title: 'A title' })
    })

    test('removes a post twice without an error, and leaves it in the trash', async () => {
      const post = await peer.publish(author, part('Gone', { title: 'Gone' }))
      await publishing.remove?.(author, post)
      await publishing.remove?.(author, post)
      await publishing.remove?.(author, { id: '999999', url: null })
      expect((await titled('Gone')).map(({ status }) => status)).toEqual(['trash'])
    })

    test('reports refusals of the site by their kinds', async () => {
      const contributor = await side.account('contributor_dora')
      await expect(peer.publish(contributor, part('Not mine'))).rejects.toMatchObject({
        kind: 'account_restricted',
        code: 'rest_cannot_publish',
        mayHaveHappened: false,
      })
      await expect(peer.publish(contributor, part('File', { media: [image()] }))).rejects.toMatchObject({
        kind: 'account_restricted',
        code: 'rest_cannot_create',
      })
      const script = peer.file({ kind: 'document', type: 'application/x-php', name: 'a.php' })
      await expect(peer.publish(author, part('Script', { media: [script] }))).rejects.toMatchObject({
        kind: 'media_processing',
        mayHaveHappened: false,
      })
      await expect(peer.publish(author, part(''))).rejects.toMatchObject({ kind: 'validation', code: 'empty_content' })
      await expect(peer.publish(author, part('Long', { title: 'a'.repeat(65_536) }))).rejects.toMatchObject({
        kind: 'validation',
        mayHaveHappened: false,
      })
      await expect(peer.publish(author, part('Bad', { options: { format: 'poem' } }))).rejects.toMatchObject({
        kind: 'validation',
        code: 'rest_invalid_param',
      })
      const root = await peer.publish(author, part('Root'))
      const long = part('a'.repeat(65_526), { role: 'comment', root, parent: root })
      await expect(peer.publish(author, long)).rejects.toMatchObject({ kind: 'validation' })
    })

    test('a revoked password is reported, and so are wrong ones', async () => {
      const account = await side.account('author_rita')
      await side.revoke('author_rita')
      await expect(wordpress.profile(account)).rejects.toMatchObject({ kind: 'auth_expired' })
      await expect(peer.publish(account, part('Late'))).rejects.toMatchObject({ kind: 'auth_expired' })
      const late = part('Late', { media: [image()] })
      for (const step of ['upload', 'publish']) {
        const state = { ...publishing.start(late, account), step }
        await expect(publishing.step(account, late, state)).rejects.toMatchObject({ kind: 'auth_expired' })
      }
      const root = await peer.publish(author, part('Of another user'))
      const comment = part('Late', { role: 'comment', root, parent: root })
      await expect(peer.publish(account, comment)).rejects.toMatchObject({ kind: 'auth_expired' })
      await expect(publishing.remove?.(account, root)).rejects.toMatchObject({ kind: 'auth_expired' })
      const wrong = { site: peer.running.url, username: 'author_ada', applicationPassword: 'abcd efgh ijkl mnop' }
      await expect(wordpress.credentials.connect(peer.context, wrong)).rejects.toMatchObject({
        kind: 'validation',
        detail: expect.stringContaining('Use an application password') as string,
      })
      const nobody = { ...wrong, username: 'nobody' }
      await expect(wordpress.credentials.connect(peer.context, nobody)).rejects.toMatchObject({ kind: 'validation' })
    })

    test('revoking deletes the password at the site, and can be repeated', async () => {
      const account = await side.account('author_otto')
      await wordpress.revoke(account)
      await expect(wordpress.profile(account)).rejects.toMatchObject({ kind: 'auth_expired' })
      await wordpress.revoke(account)
    })

    test('the password is in no log of calls', () => {
      expect(peer.calls.length).toBeGreaterThan(10)
      const log = JSON.stringify(peer.calls)
      for (const { credential } of [author, editor]) {
        const password = credential.accessToken ?? ''
        expect(password).not.toBe('')
        const basic = Buffer.from(`${String(credential['login'])}:${password}`).toString('base64')
        for (const secret of [password, encodeURIComponent(password), basic]) expect(log).not.toContain(secret)
      }
    })
  })
}

/** The beginning of an MP4 file, by which its type is known. */
const MP4 = Buffer.concat([
  Buffer.from([0, 0, 0, 24]),
  Buffer.from('ftypmp42'),
  Buffer.from([0, 0, 0, 0]),
  Buffer.from('mp42isom'),
  Buffer.alloc(500),
])
