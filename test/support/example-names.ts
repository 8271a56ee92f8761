/** The names that replace those of fixtures in the documentation's examples, in order of appearance. */
const NAMES = {
  person: ['grace', 'linus', 'margaret', 'alan'],
  workspace: ['Northwind', 'Contoso', 'Initech', 'Globex'],
  role: ['Producer', 'Moderator', 'Guest host', 'Translator'],
  group: ['Camera team', 'Editors', 'Hosts', 'Marketing'],
  channel: ['show-planning', 'launch', 'design', 'random'],
  folder: ['Launch 2026', 'Logos', 'Interviews', 'Trailers'],
  picture: ['stage', 'poster', 'logo', 'team'],
  server: ['Our own server', 'Partner server', 'Archive', 'Monitor'],
  board: ['Spring campaign', 'Website', 'Newsletter', 'Podcast'],
  idea: ['A tour of the workshop', 'Questions from the audience', 'Before and after', 'Our first year'],
  article: ['how-to-go-live-everywhere', 'new-in-november', 'plan-a-week-of-posts', 'meet-the-team'],
  book: ['Live streaming in practice', 'The first year', 'Sound for streams', 'Teams on the air'],
  app: ['crier-desktop', 'crier-mobile', 'crier-watch', 'crier-tv'],
  post: ['We are live on Friday at noon', 'New episode out now', 'Meet the team', 'Thank you all'],
  coupon: ['SPRING', 'WELCOME', 'PARTNER', 'LAUNCH'],
  report: ['Weekly report', 'Monthly report', 'Daily figures', 'Report for Acme'],
  key: ['Nightly import', 'Dashboard', 'Backup script', 'Old laptop'],
} as const

/** The kinds of things that fixtures name. */
export type NameKind = keyof typeof NAMES

const MADE_UP = new RegExp(`\\b(${Object.keys(NAMES).join('|')})-\\d+\\b`, 'g')

/** Replaces the names of fixtures in a text. @param known replacements by name; new ones are added */
export function readableNames(text: string, known: Map<string, string>): string {
  return text.replace(MADE_UP, (made, kind: NameKind) => {
    const used = new Set(known.values())
    const name = known.get(made) ?? NAMES[kind].find((one) => !used.has(one)) ?? made
    known.set(made, name)
    return name
  })
}
