/** What each domain of the registry is about: shown in the documentation and in the help of the command line. */
export const DOMAINS: Readonly<Record<string, string>> = {
  auth: 'Sign-up, log-in, sessions and passwords',
  users: 'The own account: profile, settings, API key',
  workspaces: 'Workspaces, their settings and their audit log',
  team: 'Members, invitations, roles and groups of a workspace',
  chat: 'Channels, direct conversations and their messages',
  plans: 'Plans and what they allow',
  streams: 'Live streams: ingest, destinations, relay and usage',
  queue: 'Queues of jobs: what waits, what failed and why',
  assets: 'The media library: files, folders, tags, thumbnails and renditions',
  uploads: 'Files on their way in, in one piece or in many',
  services: 'Which services are switched on',
  health: 'Whether the server lives and can do its work',
}
