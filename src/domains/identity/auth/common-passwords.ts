/**
 * Passwords that attackers try first. Those that the rules of password-rules.ts refuse (runs, repetitions, words with
 * digits around them) need not be listed. zxcvbn is not used, because it took seconds for 200 characters, so that anyone
 * could block the server.
 */

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean))

/** Passwords of ten characters or more, in lower case and without blanks. */
export const COMMON_PASSWORDS = words(`
  abcd123456 abcde12345 abcdef1234 abcdefg123 aaaaaa1111 aa12345678 a123456789 a1234567890 ab12345678 abc123456789
  qwe123456789 qwer123456 qwert12345 qwerty1234 qwerty12345 qwerty123456 qwerty7890 qwertyui123 qweasdzxc123
  qweasdzxc1 1qaz2wsx3edc 1qazxsw23edc 1qaz@wsx3edc zaq12wsxcde3 zaq1xsw2cde3 zaq1@wsx3edc !qaz2wsx3edc !qaz@wsx#edc
  1234qwerasdf 1234qwerty 123456qwerty 12345qwert 123qweasdzxc 123qwe123qwe 123456789a 123456789q 123456789z 123456789abc
  0123456789 0987654321 9876543210 1029384756 1122334455 1231231234 1234509876 1357924680 147258369 1472583690
  147852369 1478523690 159753456 1597534682 3141592653 31415926535 2718281828 5555555555 6969696969 7777777777
  1password1 adminadmin administrator adminpassword admin12345 admin123456 adminadmin1 backupbackup basketball
  basketball1 beautiful1 billgates1 bigdaddy69 bismillah1 blink182blink blessed123 bluebird12 bubblegum1 butterfly1
  californi california california1 changeme12 changeme123 changemenow changethis charlie123 chelseafc1 chocolate1
  christian1 christina1 christine1 christmas1 christopher cinderella computer12 computer123 constantine cookiemonster
  counterstrike creative12 crierpassword dallascowboys defaultpassword destination diamond123 dragonball
  dragonball1 dragonballz elephant12 elizabeth1 emmanuel12 enterprise everything everything1 fernando12 ferrari123
  firefighter footballer forever123 forever21 fortnite123 freepassword friendship fuckoff123 fuckyou123 fuckyou1234
  godisgood1 godislove1 greenday12 guest12345 guestguest happybirthday harley1234 harrypotter harrypotter1 helloworld
  helloworld1 hello12345 hellohello hockey1234 iamthebest ihateyou123 iloveme123 iloveyou12 iloveyou123 iloveyou2
  iloveyou22 iloveyousomuch iloveyoubaby iloveyou143 imissyou123 incorrect1 internet12 internet123 jesuschrist
  jesuschrist1 jesusislord jesuslovesme johncena12 juventus123 killer1234 kingofkings kristina12 ladybug123 lakers2424
  letmein123 letmein1234 letmeinnow letmeinplease leonardo12 lifeisgood liverpool1 liverpoolfc login12345 lovelove12
  loveyou123 loveyouforever manchester manchester1 manchesterunited maryjane420 masterchief master1234 metallica1
  michael123 michaeljackson michaeljordan michelle12 midnight12 minecraft1 minecraft123 monkey1234 monkeyboy1
  motherfucker motorola12 mypassword mypassword1 mypassword123 mysecretpassword newpassword newpassword1 nintendo64
  nevermind12 notpassword nothing123 oneilove12 openopen123 opensesame p@ssw0rd12 pa$$w0rd12 paradise12 passpass12
  passpasspass password01 password10 password11 password12 password123 password1234 password12345 password123456
  password99 password2020 password2021 password2022 password2023 password2024 password2025 password2026
  passwordpassword passw0rd123 passphrase phoenix123 photography playboy123 playstation pokemon123 pokemon1234
  postgres123 princess12 princess123 princess1234 qazwsxedc1 qazwsxedc12 qazwsxedc123 raspberrypi realmadrid
  realmadrid1 redsox2004 restricted rockandroll rockstar12 romanticlove ronaldo123 ronaldinho rootpassword rootroot12
  samsung123 samsunggalaxy scooby1234 scoobydoo1 screwyou12 secret1234 secretpassword security12 september1
  serverpass shadow1234 sidekick12 skateboard skywalker1 slipknot666 snoopdogg1 snowboarding softball12 spiderman1
  spiderman123 spongebob1 squarepants starwars12 starwars123 stephanie1 strawberry strawberry1 summer2020 summer2021
  summer2022 summer2023 summer2024 summer2025 summer2026 sunflower1 sunshine12 sunshine123 superman12 superman123
  supersecret swordfish1 system1234 temppassword temporary1 test123456 testpassword testtest12 testtest123 thankyou123
  theforce12 thisispassword tinkerbell tinkerbell1 tottenham1 trustno1trustno1 trustnoone undertaker university
  unbelievable valentina1 vanessa123 victoria12 volleyball volleyball1 warcraft123 welcome123 welcome1234 welcome12345
  welcome2020 welcome2021 welcome2022 welcome2023 welcome2024 welcome2025 welcome2026 welcomehome whatever12 whatever123
  whateverman winter2020 winter2021 winter2022 winter2023 winter2024 winter2025 winter2026 wrestling1 yourpassword
  yourmother zaqxswcdevfr zxcvbnm123 zxcvbnm1234 zxcasdqwe123 correcthorsebatterystaple1
`)

/** Words and names that make a common password when only digits and signs are added. In lower case. */
export const COMMON_WORDS = words(`
  password passwort motdepasse contrasena parola haslo senha wachtwoord salasana pass passwd passphrase secret geheim
  admin administrator root user guest login default letmein welcome changeme access system server computer internet
  master manager support service security windows microsoft google facebook instagram twitter youtube tiktok linkedin
  samsung iphone android apple amazon netflix spotify crier streaming livestream
  qwerty qwertz azerty asdf asdfgh asdfghjkl zxcvbn zxcvbnm qwer qwert qwertyuiop qazwsx qazwsxedc abc abcd abcde
  abcdef abcdefg hello hallo bonjour hola test testing tester demo sample example temp temporary nothing whatever
  iloveyou loveyou lovely love lover ilove jetaime teamo tiamo iloveme iloveu forever together sweetheart honey baby
  babygirl princess prince angel heaven jesus jesuschrist christ god godisgood bless blessed allah bismillah
  monkey dragon tiger lion eagle falcon shadow ninja pirate wizard magic phoenix unicorn butterfly dolphin elephant
  kitty kitten puppy flower sunflower sunshine summer winter spring autumn monday sunday january february march april
  june july august september october november december football baseball basketball soccer hockey tennis golf
  liverpool arsenal chelsea barcelona realmadrid juventus manchester manutd lakers yankees cowboys steelers ferrari
  mercedes porsche bmw mustang corvette camaro harley yamaha honda toyota
  superman batman spiderman ironman starwars startrek pokemon pikachu minecraft fortnite naruto warcraft
  harrypotter hogwarts matrix gandalf frodo skywalker cinderella tinkerbell mickey minnie snoopy scooby garfield
  michael jordan jennifer jessica ashley daniel matthew andrew joshua robert thomas william charlie christopher
  alexander anthony nicholas jonathan michelle amanda melissa nicole stephanie elizabeth samantha victoria natalie
  maria anna laura sarah martin peter david george richard steven jackson hunter taylor cookie chocolate cheese banana
  orange cherry strawberry pepper ginger coffee pizza beer whiskey
  fuck fuckyou fuckoff asshole bitch shit sexy money dollar million lucky happy smile friend friends family mother
  father mommy daddy brother sister purple yellow green silver golden diamond crystal rainbow
  freedom peace liberty america canada england london paris berlin germany france mexico brasil brazil india pakistan
  killer hacker hacking trustno trustnoone letmein opensesame music guitar metallica slipknot nirvana beatles
  blink computer laptop nokia phone mobile school college university student teacher doctor police soldier captain
`)
