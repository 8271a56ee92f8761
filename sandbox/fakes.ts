import type { FakeFactory } from './fake.ts'

/** The fakes by the key of their platform, each loaded when it is needed. A new platform adds a line. */
export const FAKES: Readonly<Record<string, () => Promise<FakeFactory>>> = {
  bluesky: async () => (await import('./bluesky/fake.ts')).blueskyFake,
  discord: async () => (await import('./discord/fake.ts')).discordFake,
  facebook: async () => (await import('./facebook/fake.ts')).facebookFake,
  instagram: async () => (await import('./instagram/fake.ts')).instagramFake,
  linkedin: async () => (await import('./linkedin/fake.ts')).linkedinFake,
  mastodon: async () => (await import('./mastodon/fake.ts')).mastodonFake,
  pinterest: async () => (await import('./pinterest/fake.ts')).pinterestFake,
  reddit: async () => (await import('./reddit/fake.ts')).redditFake,
  telegram: async () => (await import('./telegram/fake.ts')).telegramFake,
  threads: async () => (await import('./threads/fake.ts')).threadsFake,
  tiktok: async () => (await import('./tiktok/fake.ts')).tiktokFake,
  wordpress: async () => (await import('./wordpress/fake.ts')).wordpressFake,
  x: async () => (await import('./x/fake.ts')).xFake,
  youtube: async () => (await import('./youtube/fake.ts')).youtubeFake,
}

/** @throws Error for a platform without a fake */
export async function fakeOf(key: string): Promise<FakeFactory> {
  const load = FAKES[key]
  if (load === undefined) throw new Error(`${key} has no fake`)
  return load()
}
