from modc import main

main()
