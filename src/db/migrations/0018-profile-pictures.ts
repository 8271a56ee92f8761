import { Migration } from '@mikro-orm/migrations'

/** Profile pictures are files of our own: their URLs follow from their ids. Nobody had one before. */
export class ProfilePictures extends Migration {
  override up(): void {
    this.addSql('alter table users add column picture_id uuid, drop column picture_url')
    this.addSql('create unique index users_by_picture on users (picture_id) where picture_id is not null')
  }
}
